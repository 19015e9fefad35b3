import type { Instant } from '../nouns/instant.ts';
import { type CountedAs, isSameCount } from '../rules/judge-slot.ts';
import type { RuleSet } from '../rules/rule-set.ts';
import { countRequest, judgeAccess, judgeFeature, judgeSlot, type Request } from './judge.ts';
import { type CountedSlot, featureCounts, isUsable, moveTo, type Pool, type Session } from './pool.ts';
import type { SlotCounts } from './slot-counts.ts';

/** A slot of a session, and what it would count as elsewhere. */
interface MovedSlot {
  readonly slot: CountedSlot;
  readonly counts: SlotCounts;
  readonly request: Request;
  readonly after: CountedAs;
}

/**
 * The holder of a slot calls from elsewhere. As on the server (`putFollowed`), it is counted there if
 * returning it and lending it anew would be allowed, with its features; if not, where it was counted before.
 * What the request does not say stays as it was.
 */
export function follow(
  rules: RuleSet,
  pool: Pool,
  session: Session,
  { hostname, address }: Session['place'],
  now: Instant,
): void {
  const { place: before } = session;
  const place = { hostname: hostname ?? before.hostname, address: address ?? before.address };
  moveTo(session, place);
  const moved = listMoved(rules, pool, session);
  const mayUse = ({ request }: MovedSlot) => request.feature === null || judgeAccess(rules, request) === null;
  const isAllowed =
    !isUsable(session.on, now) ||
    (moved.every(mayUse) && moved.every((one) => mayMove(rules, pool, session, one, now)));
  if (!isAllowed) return;
  session.countedAt = place;
  for (const { slot, counts, after } of moved) {
    counts.add(slot.as, -1);
    counts.add(after, 1);
    slot.as = after;
  }
}

function listMoved(rules: RuleSet, { product }: Pool, session: Session): readonly MovedSlot[] {
  const { user, place, on, features } = session;
  const moved = (slot: CountedSlot, counts: SlotCounts, feature: string | null): MovedSlot => {
    const request = { user, ...place, product, feature };
    return { slot, counts, request, after: countRequest(rules, request) };
  };
  return [
    moved(session, on.counts, null),
    ...Array.from(features, ([feature, slot]) => moved(slot, featureCounts(on, feature), feature)),
  ];
}

function mayMove(
  rules: RuleSet,
  pool: Pool,
  { on }: Session,
  { slot, counts, request, after }: MovedSlot,
  now: Instant,
): boolean {
  if (isSameCount(slot.as, after)) return true;
  const { feature } = request;
  counts.add(slot.as, -1);
  const refusal =
    feature === null
      ? judgeSlot(rules, pool, { ...request, named: null }, now)
      : judgeFeature(rules, pool, { on, request: { ...request, feature } }, now);
  counts.add(slot.as, 1);
  return refusal === null;
}
