import { placeOf } from '@berth/protocol/address-range';
import type { Instant } from '../nouns/instant.ts';
import { type Refused, refuse } from '../outcome.ts';
import { findSlotRules } from './find-rules.ts';
import { hostOf, listGroups, type Person } from './groups.ts';
import { foldWord } from './names.ts';
import { countStillToCome, type HeldByGroups } from './reservations.ts';
import type { Limit, PlaceKind, Reservation, RuleSet, SlotRules } from './rule-set.ts';
import { isDuring } from './times.ts';

/** What a slot counts as: the groups of its holder that the rules count, and where they are. */
export interface CountedAs {
  /** Joined with commas; empty: none. */
  readonly groups: string;
  readonly host: string | null;
  readonly address: string | null;
}

/** What is held of a product or a feature, by what it counts as. */
export interface HeldSlots {
  readonly byGroups: HeldByGroups;
  countAt(kind: PlaceKind, place: string): number;
}

/** Slots that can be lent, and those of them that are left. */
export interface Supply {
  /** Of the product or the feature. */
  readonly name: string;
  readonly slots: number;
  readonly free: number;
}

/** The rules of a product or a feature if they count slots. */
export function findCounting(rules: RuleSet, product: string, feature: string | null): SlotRules | null {
  const own = findSlotRules(rules, product, feature);
  return own !== null && (own.reserve.length > 0 || own.limit.length > 0) ? own : null;
}

/** Users, as they were counted last: a slot is judged, counted and returned by the same person. */
type Recent = Map<string, { readonly person: Person; readonly as: CountedAs }>;

const RECENT = new WeakMap<RuleSet, Map<SlotRules, Recent>>();

const MAX_RECENT = 4096;

export function countAs(rules: RuleSet, own: SlotRules, person: Person): CountedAs {
  const recent = recentOf(rules, own);
  const { user, hostname, address, groups } = person;
  const known = recent.get(user);
  const isSame = known?.person.hostname === hostname && known.person.address === address;
  if (isSame && known.person.groups === groups) return known.as;
  if (recent.size >= MAX_RECENT) recent.clear();
  const as = findCountedAs(rules, own, person);
  recent.set(user, { person, as });
  return as;
}

function recentOf(rules: RuleSet, own: SlotRules): Recent {
  const known = RECENT.get(rules)?.get(own);
  if (known !== undefined) return known;
  const all = RECENT.get(rules) ?? new Map<SlotRules, Recent>();
  RECENT.set(rules, all);
  return all.getOrInsertComputed(own, () => new Map());
}

function findCountedAs(rules: RuleSet, own: SlotRules, person: Person): CountedAs {
  const { groups, places } = countedBy(own);
  const { host, address } = placesOf(person);
  return {
    groups: groups.length === 0 ? '' : keyOf(own, listGroups(rules, person)),
    host: places.has('host') ? host : null,
    address: places.has('address') ? address : null,
  };
}

/** Where somebody is, as it is counted. */
export function placesOf(person: Person): Omit<CountedAs, 'groups'> {
  const host = hostOf(person);
  return {
    host: host === null ? null : foldWord(host),
    address: person.address === null ? null : placeOf(person.address),
  };
}

/** Those of the groups that are counted, as a key of `HeldByGroups`. */
export function keyOf(own: SlotRules, groups: ReadonlySet<string>): string {
  return countedBy(own)
    .groups.filter((group) => groups.has(group))
    .join(',');
}

export function isSameCount(a: CountedAs, b: CountedAs): boolean {
  return a.groups === b.groups && a.host === b.host && a.address === b.address;
}

/** What reservations and limits look at. */
interface Counted {
  /** Each once, in the order of their names. */
  readonly groups: readonly string[];
  readonly places: ReadonlySet<PlaceKind>;
  /** Limits that concern members of groups, by `CountedAs.groups`. */
  readonly limits: Map<string, readonly Limit[]>;
}

const COUNTED = new WeakMap<SlotRules, Counted>();

export function countedBy(own: SlotRules): Counted {
  const known = COUNTED.get(own);
  if (known !== undefined) return known;
  const limited = own.limit.flatMap(({ of }) => ('group' in of ? [of.group] : []));
  const counted = {
    groups: [...new Set([...own.reserve.map((rule) => rule.for), ...limited])].sort(),
    places: new Set(own.limit.flatMap(({ of }) => ('each' in of ? [of.each] : []))),
    limits: new Map<string, readonly Limit[]>(),
  };
  COUNTED.set(own, counted);
  return counted;
}

/** The first limit that allows no further slot; `null`: all do. */
export function refuseByLimit(
  rules: RuleSet,
  own: SlotRules,
  { name }: Pick<Supply, 'name'>,
  held: HeldSlots,
  as: CountedAs,
  now: Instant | null,
): Refused | null {
  for (const limit of listLimits(own, as)) {
    if (!isDuring(rules, limit.during, now)) continue;
    const inUse = countLimited(limit, held, as);
    if (inUse !== null && inUse >= limit.slots) return refuseLimited(name, limit, inUse, as);
  }
  return null;
}

/** Those that concern members of these groups. */
function listLimits(own: SlotRules, { groups }: CountedAs): readonly Limit[] {
  const { limits } = countedBy(own);
  const known = limits.get(groups);
  if (known !== undefined) return known;
  if (limits.size >= MAX_RECENT) limits.clear();
  const found = own.limit.filter(({ of }) => 'each' in of || isIn(groups, of.group));
  limits.set(groups, found);
  return found;
}

/** The slots that the limit counts; `null`: nobody knows where this person is. */
function countLimited({ of }: Limit, held: HeldSlots, as: CountedAs): number | null {
  if ('group' in of) return countGroup(held.byGroups, of.group);
  const place = as[of.each];
  return place === null ? null : held.countAt(of.each, place);
}

/** Held slots of all members of a group. */
export function countGroup(byGroups: HeldByGroups, group: string): number {
  let sum = 0;
  for (const [key, slots] of byGroups) if (isIn(key, group)) sum += slots;
  return sum;
}

function isIn(key: string, group: string): boolean {
  return key === group || (key.includes(group) && key.split(',').includes(group));
}

/**
 * Why reservations leave no slot; `null`: one can be lent. Somebody gets one if more are free than are still
 * to come for others, or if fewer are to come once they have it.
 */
export function refuseByReservation(
  rules: RuleSet,
  own: SlotRules,
  supply: Supply,
  { byGroups }: HeldSlots,
  { groups }: CountedAs,
  now: Instant | null,
): Refused | null {
  const reservations = own.reserve.filter(({ during }) => isDuring(rules, during, now));
  const reserved = reservations.reduce((sum, { slots }) => sum + slots, 0);
  if (reserved === 0 || supply.free > reserved) return null;
  const toCome = countStillToCome(reservations, byGroups);
  if (supply.free > toCome) return null;
  const withOne = new Map(byGroups).set(groups, (byGroups.get(groups) ?? 0) + 1);
  if (countStillToCome(reservations, withOne) < toCome) return null;
  return refuseReserved(supply, listUnfilled(reservations, byGroups, toCome));
}

/** Those without which less would be to come. */
function listUnfilled(
  reservations: readonly Reservation[],
  held: HeldByGroups,
  toCome: number,
): readonly Reservation[] {
  const isUnfilled = (one: Reservation) =>
    countStillToCome(
      reservations.filter((other) => other !== one),
      held,
    ) < toCome;
  return reservations.filter(isUnfilled);
}

/** The rule in a few words, as refusals, the audit log and reports name it. */
export function nameReservation({ slots, for: group, during }: Reservation): string {
  return `reserve ${slots} for ${group}${duringText(during)}`;
}

export function nameLimit({ slots, of, during }: Limit): string {
  const whom = 'group' in of ? `for ${of.group}` : `for each ${of.each}`;
  return `limit ${slots} ${whom}${duringText(during)}`;
}

/** Whether the rule, by its name, limits each host or address, and not a group. */
export function isByPlace(rule: string): boolean {
  return /^limit \d+ for each /.test(rule);
}

function duringText(during: string | null): string {
  return during === null ? '' : ` during ${during}`;
}

function refuseReserved({ name, slots, free }: Supply, unfilled: readonly Reservation[]): Refused {
  const groups = [...new Set(unfilled.map((one) => one.for))];
  const rule = unfilled.map(nameReservation).join(', ');
  const message =
    `${free} of ${slots} slots of "${name}" ${free === 1 ? 'is' : 'are'} free, but reserved for ` +
    `${joinNames(groups)}. Ask your administrator (rule: ${rule}).`;
  return refuse('floating_not_available', message, { rule, reservedFor: groups, free });
}

function refuseLimited(name: string, limit: Limit, inUse: number, as: CountedAs): Refused {
  const { of } = limit;
  const rule = nameLimit(limit);
  const whom = 'group' in of ? of.group : `${of.each} ${as[of.each]}`;
  const message =
    `${whom} holds ${inUse} slots of "${name}", and may hold ${limit.slots} at most. ` +
    `Wait until one is returned, or ask your administrator (rule: ${rule}).`;
  return refuse('floating_not_available', message, { rule, limit: limit.slots, inUse });
}

export function joinNames(names: readonly string[]): string {
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} and ${names[names.length - 1]}`;
}
