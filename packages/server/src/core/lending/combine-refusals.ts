import { ERROR_CODES } from '@berth/protocol/errors';
import type { AddConsumption, LicenseCommand } from '../command.ts';
import type { Instant } from '../nouns/instant.ts';
import { type Refused, refuse } from '../outcome.ts';
import { refuseFull } from '../refusals.ts';

/**
 * How far a request got on a license. Refusals stand in the order in which decisions check for them, so a
 * later one got further; those before the rules mean that the license cannot be used. Of several licenses,
 * the one on which the request got furthest says what is missing: if one is full and another does not allow
 * borrowing, a borrow waits for a slot.
 */
function progressOf({ code }: Refused): number {
  // A count that cannot be taken back is refused last.
  if (code === 'validation_error') return ERROR_CODES.length;
  const place = ERROR_CODES.indexOf(code);
  return place < ERROR_CODES.indexOf('blacklisted') ? -1 : place;
}

/** One refusal for several licenses of a product, given in order. */
export function combineRefusals(
  command: LicenseCommand,
  product: string,
  refusals: readonly Refused[],
): Refused {
  const furthest = Math.max(...refusals.map(progressOf));
  const said = refusals.filter((refusal) => progressOf(refusal) === furthest);
  const [first] = said as [Refused];
  switch (first.code) {
    case 'floating_not_available':
      // A rule is about all licenses of the product.
      return said.find(({ details }) => 'rule' in details) ?? addUpSlots(product, said);
    case 'borrow_until_not_valid':
      return withLargest(said, 'latestUntil');
    case 'license_not_enough_consumptions':
    case 'feature_not_enough_consumptions':
      return addUpConsumption(command as AddConsumption, product, said);
    case 'validation_error':
      return withLargest(said, 'totalConsumptions');
    default:
      return first;
  }
}

function addUpSlots(product: string, said: readonly Refused[]): Refused {
  const ends = said.flatMap(({ details }) => (details.nextFreeAt as Instant | undefined) ?? []);
  return refuseFull({
    name: product,
    slots: sum(said, 'slots'),
    inUse: sum(said, 'inUse'),
    nextFreeAt: ends.length === 0 ? null : (Math.min(...ends) as Instant),
    licenses: said.length,
  });
}

/** A count is not split between licenses, so `left` is what the license with the largest remainder has. */
function addUpConsumption({ count, feature }: AddConsumption, product: string, said: readonly Refused[]) {
  const left = withLargest(said, 'left').details.left as number;
  const what = feature === null ? `"${product}"` : `the feature "${feature}" of "${product}"`;
  return refuse(
    (said[0] as Refused).code,
    `${count} cannot be added: no license of ${what} has that much left. ` +
      `The most that one of them has is ${left}.`,
    {
      left,
      totalConsumptions: sum(said, 'totalConsumptions'),
      maxConsumptions: sum(said, 'maxConsumptions'),
      licenses: said.length,
    },
  );
}

function sum(said: readonly Refused[], name: string): number {
  return said.reduce((total, { details }) => total + (details[name] as number), 0);
}

/** The first refusal with the largest number; one without it comes last. */
function withLargest(said: readonly Refused[], name: string): Refused {
  const numberOf = ({ details }: Refused) => (details[name] as number | undefined) ?? -1;
  return said.reduce((best, one) => (numberOf(one) > numberOf(best) ? one : best));
}
