import { placeRange } from '@berth/protocol/address-range';
import type { Borrow, Register, RegisterFeature } from '../command.ts';
import type { Change } from '../decision.ts';
import { addressOf } from '../nouns/actor.ts';
import { HOUR_MS, type Instant, plus } from '../nouns/instant.ts';
import { isUsable, type License } from '../nouns/license.ts';
import type { Registration } from '../nouns/registration.ts';
import { type Refused, refuse } from '../outcome.ts';
import { refuseByAccess } from '../rules/admit.ts';
import { findProductRules } from '../rules/find-rules.ts';
import { listGroups, type Person } from '../rules/groups.ts';
import {
  type CountedAs,
  countAs,
  findCounting,
  type HeldSlots,
  isSameCount,
  joinNames,
  refuseByLimit,
  refuseByReservation,
} from '../rules/judge-slot.ts';
import type { BorrowRules } from '../rules/rule-set.ts';
import { type Asker, personOf, type Rules } from '../rules/rules.ts';
import { isDuring } from '../rules/times.ts';
import type { Holdings, LicenseView } from '../view.ts';
import type { RuledUntil } from './borrow-until.ts';
import { type Collected, listHeldFeatures } from './collect.ts';

/** Who holds a slot, as the rules count it. */
export function countedPerson({ user, host, origin, countedAt }: Registration): Person {
  return { user, ...(countedAt ?? { hostname: host.hostname, address: origin }) };
}

/** Limits and reservations of a product or a feature, for somebody who takes a slot. */
interface Judge {
  refuseByLimit(): Refused | null;
  refuseByReservation(): Refused | null;
}

/** Without rules that count slots. */
export const LENIENT: Judge = { refuseByLimit: () => null, refuseByReservation: () => null };

export function judgeOf(
  command: Register | Borrow | RegisterFeature,
  view: LicenseView,
  feature: string | null,
  now: Instant,
): Judge {
  const { set } = view.rules;
  const own = findCounting(set, view.license.product, feature);
  if (own === null) return LENIENT;
  // A feature slot is counted like its holder's slot.
  const holder = feature === null ? null : view.registration;
  const as = countAs(set, own, holder === null ? personOf(command) : countedPerson(holder));
  return {
    refuseByLimit() {
      const { supply, inPool } = view.readHoldings(feature);
      return refuseByLimit(set, own, supply, inPool, as, now);
    },
    refuseByReservation() {
      const { supply, reserved } = view.readHoldings(feature);
      return refuseByReservation(set, own, supply, reserved, as, now);
    },
  };
}

/**
 * Stores a slot whose holder calls from elsewhere. It is counted there if returning it and lending it anew
 * would be allowed, with the features that they hold; if not, where it was counted before. If counts simply
 * followed, reserved slots could be given away.
 */
export function putFollowed(
  view: LicenseView,
  base: Collected,
  held: Registration,
  moved: Registration,
  now: Instant,
): Change {
  const isAllowed = mayFollow(view, base, held, moved, now);
  const { user: _, ...countedAt } = countedPerson(held);
  const registration = isAllowed ? moved : { ...moved, countedAt };
  return { kind: 'put_registration', registration, before: held };
}

function mayFollow(
  view: LicenseView,
  base: Collected,
  held: Registration,
  moved: Registration,
  now: Instant,
): boolean {
  const { rules, license } = view;
  if (findProductRules(rules.set, license.product) === null || !isUsable(license, now)) return true;
  const features = listHeldFeatures(view, base, now).map(({ feature }) => feature);
  // Whether they may have the license's own slot there was asked first.
  const asking = { ...countedPerson(moved), claimedAddress: moved.host.address };
  return (
    features.every((feature) => refuseByAccess(rules.set, asking, license.product, feature) === null) &&
    [null, ...features].every((feature) => mayCountThere(view, feature, held, moved, now))
  );
}

function mayCountThere(
  view: LicenseView,
  feature: string | null,
  held: Registration,
  moved: Registration,
  now: Instant,
): boolean {
  const { set } = view.rules;
  const own = findCounting(set, view.license.product, feature);
  if (own === null) return true;
  const before = countAs(set, own, countedPerson(held));
  const after = countAs(set, own, countedPerson(moved));
  if (isSameCount(before, after)) return true;
  const { inPool, reserved, supply, freeAfterReturn: free }: Holdings = view.readHoldings(feature);
  if (free === 0) return false;
  return (
    refuseByLimit(set, own, supply, correct(inPool, before, -1), after, now) === null &&
    refuseByReservation(set, own, { ...supply, free }, correct(reserved, before, -1), after, now) === null
  );
}

/** What is held if one slot more or less is. */
export function correct(held: HeldSlots, one: CountedAs, difference: 1 | -1): HeldSlots {
  const { groups } = one;
  const byGroups = new Map(held.byGroups).set(groups, (held.byGroups.get(groups) ?? 0) + difference);
  return {
    byGroups,
    countAt: (kind, place) => held.countAt(kind, place) + (one[kind] === place ? difference : 0),
  };
}

/** What the rules for borrowing look at. */
export interface BorrowView {
  readonly rules: Pick<Rules, 'set'>;
  readonly license: Pick<License, 'product'>;
  readonly countPoolBorrows: LicenseView['countPoolBorrows'];
}

/** The rules for borrowing a product that apply now; `null`: there are none. */
export function findBorrowRules({ rules, license }: BorrowView, now: Instant): BorrowRules | null {
  const borrow = findProductRules(rules.set, license.product)?.borrow ?? null;
  return borrow !== null && isDuring(rules.set, borrow.during, now) ? borrow : null;
}

/** Why somebody may not borrow at all; `null`: they may. */
export function refuseBorrower(
  borrow: BorrowRules | null,
  command: Asker,
  { rules, license }: BorrowView,
): Refused | null {
  const { allow } = borrow ?? { allow: null };
  if (allow === null) return null;
  const groups = listGroups(rules.set, personOf(command));
  if (allow.some((group) => groups.has(group))) return null;
  const rule = `borrow allow ${allow.join(', ')}`;
  return refuse(
    'license_borrow_not_allowed',
    `Only members of ${joinNames(allow)} may borrow "${license.product}". ` +
      `Ask your administrator (rule: ${rule}).`,
    { rule },
  );
}

/** The latest date that the rules allow; `null`: any. */
export function latestByRules(borrow: BorrowRules | null, now: Instant): RuledUntil | null {
  if (borrow?.hours == null) return null;
  return { latest: plus(now, borrow.hours * HOUR_MS), rule: `borrow hours ${borrow.hours}` };
}

/** Why no further slot may be borrowed; `null`: one may. Who extends a borrow needs none. */
export function refuseMoreBorrows(
  borrow: BorrowRules | null,
  command: Asker,
  view: BorrowView,
): Refused | null {
  if (borrow === null) return null;
  return refuseKept(borrow, view) ?? refuseCrowd(borrow, command, view);
}

function refuseKept({ keep }: BorrowRules, view: BorrowView): Refused | null {
  if (keep === 0) return null;
  const { slots, borrowed } = view.countPoolBorrows(null);
  if (borrowed < slots - keep) return null;
  const rule = `borrow keep ${keep}`;
  return refuse(
    'floating_not_available',
    `${borrowed} of ${slots} slots of "${view.license.product}" are borrowed, and ${keep} are never lent ` +
      `for a trip. Register a slot instead, or ask your administrator (rule: ${rule}).`,
    { rule, slots, borrowed, keep },
  );
}

function refuseCrowd({ perAddress }: BorrowRules, { by }: Asker, view: BorrowView): Refused | null {
  const address = perAddress === null ? null : addressOf(by);
  const range = address === null ? null : placeRange(address);
  if (perAddress === null || range === null) return null;
  const { borrowed } = view.countPoolBorrows(range);
  if (borrowed < perAddress) return null;
  const rule = `borrow perAddress ${perAddress}`;
  return refuse(
    'address_limit_reached',
    `${borrowed} slots of "${view.license.product}" are borrowed from this address, and the administrator ` +
      `allows no more than ${perAddress}. Return one, or ask the administrator (rule: ${rule}).`,
    { rule, limit: perAddress },
  );
}
