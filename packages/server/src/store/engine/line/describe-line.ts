import type { ProductLimit } from '../../../core/access/role.ts';
import { isPresent } from '../../../core/lending/waiting-line.ts';
import { addressOf } from '../../../core/nouns/actor.ts';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { PlaceKey } from '../../../core/outcome.ts';
import type { LineDescription } from '../../store.ts';
import type { WaitingLine } from './waiting-line.ts';

/** More are counted, but not listed. */
const MAX_LISTED = 1000;

/** Who waits, for people to read: by product, in the order of their turns. */
export function describeLine(
  line: WaitingLine,
  now: Instant,
  products: ProductLimit = null,
): LineDescription {
  const isMeant = (place: PlaceKey) => products === null || products.includes(place.product);
  const rows = line
    .listRows()
    .map((row) => row.list().filter((place) => place.lentBy === null && isMeant(place)));
  const places = rows.flatMap((waiting) =>
    waiting.map((place, index) => ({
      product: place.product,
      feature: place.feature,
      user: place.command.spelling ?? place.user,
      hostname: place.command.host?.hostname ?? null,
      address: addressOf(place.command.by),
      since: place.since,
      position: index + 1,
      why: place.why,
      rule: place.rule,
      isConnected: isPresent(place, now, line.isAlive),
    })),
  );
  return { waiting: places.length, places: places.slice(0, MAX_LISTED), now };
}
