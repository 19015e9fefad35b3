import { type AddressRange, isWithin, parseAddress } from '@berth/protocol/address-range';
import { correct, countedPerson } from '../../../core/lending/count-slots.ts';
import { WHOLE_LICENSE } from '../../../core/nouns/consumption.ts';
import { findFeature } from '../../../core/nouns/feature-slot.ts';
import { isUsable, type LicenseId } from '../../../core/nouns/license.ts';
import { isBorrowed, orNoSlot, type Registration } from '../../../core/nouns/registration.ts';
import type { Person } from '../../../core/rules/groups.ts';
import { countAs, findCounting, type HeldSlots } from '../../../core/rules/judge-slot.ts';
import type { Holdings, LicenseView } from '../../../core/view.ts';
import type { Batch } from '../batch.ts';
import type { SlotCounts } from '../counts/slot-counts.ts';
import type { LoadedLicense } from '../loaded-licenses.ts';
import { originKeys, registrationFromRow } from '../rows.ts';
import { countOf } from '../sql.ts';

/** Free slots of licenses or of a feature that are kept for others, who come first: for whom, by license. */
export interface Kept {
  readonly feature: string;
  readonly people: ReadonlyMap<LicenseId, readonly Person[]>;
}

/** Found when it is asked for: most requests renew a slot. */
export type FindKept = () => Kept;

export const NOTHING_KEPT: Kept = { feature: WHOLE_LICENSE, people: new Map() };

const NOBODY: readonly never[] = [];

type Source = Pick<Batch, 'statements' | 'rules' | 'licenses' | 'now'>;

/** The licenses of the product that can be used now. */
function listPool({ licenses, now }: Source, { license }: LoadedLicense): readonly LoadedLicense[] {
  return licenses.listByProduct(license.product).filter((one) => isUsable(one.license, now));
}

/**
 * What is held of the product, or of a feature. `execute.ts` has counted it. `leaver`: the slots
 * of this user on other licenses are not counted, because one who moves gives them back.
 */
export function readHoldings(
  source: Source,
  entry: LoadedLicense,
  feature: string | null,
  leaver: string | null,
  kept: Kept = NOTHING_KEPT,
): Holdings {
  const pool = listPool(source, entry);
  const lender = feature ?? WHOLE_LICENSE;
  const keptOn = (one: LoadedLicense) =>
    (kept.feature === lender && kept.people.get(one.license.id)) || NOBODY;
  const leaves = leaver === null ? [] : listLeft(source, pool, entry, leaver);
  const left = feature === null ? leaves : leaves.filter((one) => holdsFeature(source, one, feature));
  const own = findCounting(source.rules.set, entry.license.product, feature);
  const add = (held: HeldSlots, person: Person, difference: 1 | -1) =>
    own === null ? held : correct(held, countAs(source.rules.set, own, person), difference);
  const withKept = (held: HeldSlots, on: readonly LoadedLicense[]) =>
    on.flatMap(keptOn).reduce((sum, person) => add(sum, person, 1), held);
  const inPool = left.reduce(
    (rest, { registration }) => add(rest, countedPerson(registration), -1),
    withKept(sumUp(pool, lender), pool),
  );
  if (feature !== null) {
    const reserved = withKept(sumUp([entry], feature), [entry]);
    return ofFeature(source, entry, feature, { inPool, reserved }, keptOn(entry).length);
  }
  const free = (one: LoadedLicense, returned = 0) => {
    const gone = returned + left.filter(({ on }) => on === one).length;
    return Math.max(0, one.license.slots - one.storedInUse - keptOn(one).length + gone);
  };
  const others = pool.filter((one) => one !== entry).reduce((sum, one) => sum + free(one), 0);
  const slots = pool.reduce((sum, one) => sum + one.license.slots, 0);
  const supply = { name: entry.license.product, slots, free: others + free(entry) };
  return { inPool, reserved: inPool, supply, freeAfterReturn: others + free(entry, 1) };
}

/** Features are reserved on each license by itself: a feature is lent only where its user holds a slot. */
function ofFeature(
  source: Source,
  entry: LoadedLicense,
  feature: string,
  held: Pick<Holdings, 'inPool' | 'reserved'>,
  kept: number,
): Holdings {
  const slots = findFeature(entry.license, feature)?.floating?.slots ?? 0;
  const free = slots - entry.meters.countInUse(source.statements, feature) - kept;
  return {
    ...held,
    supply: { name: feature, slots, free: Math.max(0, free) },
    freeAfterReturn: Math.max(0, free + 1),
  };
}

function sumUp(pool: readonly LoadedLicense[], feature: string): HeldSlots {
  const counts = pool.map((one) => one.counts as SlotCounts);
  const [first, ...others] = counts.map((one) => one.listGroups(feature));
  return {
    byGroups: first === undefined || others.length > 0 ? addUp(counts, feature) : first,
    countAt: (kind, place) => counts.reduce((sum, one) => sum + one.countAt(feature, kind, place), 0),
  };
}

function addUp(counts: readonly SlotCounts[], feature: string): HeldSlots['byGroups'] {
  const byGroups = new Map<string, number>();
  for (const [groups, slots] of counts.flatMap((one) => [...one.listGroups(feature)])) {
    byGroups.set(groups, (byGroups.get(groups) ?? 0) + slots);
  }
  return byGroups;
}

/** A slot, and the license that it is of. */
interface Left {
  readonly on: LoadedLicense;
  readonly registration: Registration;
}

/**
 * What is given back when the user gets a slot of `entry`: those of licenses that are asked before it.
 * Licenses with a slot of the user are asked first, the newest before the others; see `decide-pool.ts`.
 */
function listLeft(
  { statements, now }: Source,
  pool: readonly LoadedLicense[],
  entry: LoadedLicense,
  user: string,
): readonly Left[] {
  const held = pool.flatMap((on) => {
    const row = statements.registration.find({ license_id: on.license.id, user });
    const registration = row === undefined ? null : orNoSlot(registrationFromRow(row), now);
    return registration === null ? [] : [{ on, registration }];
  });
  const own = held.findIndex(({ on }) => on === entry);
  return own === -1 ? held : held.slice(0, own);
}

function holdsFeature({ statements }: Source, { on, registration }: Left, feature: string): boolean {
  const { user } = registration;
  return statements.feature_slot.find({ license_id: on.license.id, user, feature }) !== undefined;
}

/** Slots of the product that can be used now, and how many of them are borrowed. */
export function countPoolBorrows(
  source: Source,
  entry: LoadedLicense,
  range: AddressRange | null,
  leaver: string | null,
): ReturnType<LicenseView['countPoolBorrows']> {
  const { statements, now } = source;
  const pool = listPool(source, entry);
  const counts = pool.map(({ license: { id } }) => {
    if (range === null) return countOf(statements.countBorrowed.get({ id, now }));
    return countOf(statements.countBorrowedFrom.get({ id, now, ...originKeys(range) }));
  });
  const left = leaver === null ? [] : listLeft(source, pool, entry, leaver);
  const returned = left.filter(
    ({ registration }) => isBorrowed(registration, now) && (range === null || isFrom(registration, range)),
  ).length;
  return {
    slots: pool.reduce((sum, { license }) => sum + license.slots, 0),
    borrowed: counts.reduce((sum, count) => sum + count, 0) - returned,
  };
}

function isFrom({ origin }: Registration, range: AddressRange): boolean {
  const address = origin === null ? null : parseAddress(origin);
  return address !== null && isWithin(address, range);
}
