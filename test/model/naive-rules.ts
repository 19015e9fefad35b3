import { DAY_MS, type Instant, MINUTE_MS } from '@berth/server/core/nouns/instant';
import type {
  BorrowRules,
  Limit,
  Reservation,
  RuleSet,
  SlotRules,
  Times,
} from '@berth/server/core/rules/rule-set';
import type { Refusal } from './model-refusals.ts';

/** Where somebody asks from, or where a slot is counted. */
export interface Place {
  readonly hostname: string | null;
  readonly address: string | null;
}

/** Who asks, or holds a slot. */
export interface Person {
  readonly user: string;
  readonly at: Place;
}

/** What is held of a product or a feature: the slots one by one, without any counts. */
export interface Holdings {
  readonly held: readonly Person[];
  /** Those that fill reservations. */
  readonly filling: readonly Person[];
  readonly free: number;
}

/** By a zone without summer time. */
const OFFSETS: Readonly<Record<string, number>> = { UTC: 0, 'Asia/Kolkata': 330 };

/** Whether one of the windows that began today or yesterday lasts until now. */
function isNow({ days, from, to, zone }: Times, now: Instant): boolean {
  const local = now + (OFFSETS[zone] as number) * MINUTE_MS;
  const today = Math.floor(local / DAY_MS);
  return [today, today - 1].some((day) => {
    // The first day of all was a Thursday.
    const begins = day * DAY_MS + from * MINUTE_MS;
    const lasts = (to > from ? to - from : to - from + 24 * 60) * MINUTE_MS;
    return days.includes((day + 4) % 7) && begins <= local && local < begins + lasts;
  });
}

function isInForce({ times }: RuleSet, { during }: { during: string | null }, now: Instant): boolean {
  return during === null || isNow(times[during] as Times, now);
}

/** Names end with a star, or have none; addresses are of 10.0.0.0/24 or single. */
function isNamed(name: string | null, list: readonly string[]): boolean {
  if (name === null) return false;
  return list.some((word) => {
    if (word === '10.0.0.0/24') return name.startsWith('10.0.0.');
    return word.endsWith('*') ? name.startsWith(word.slice(0, -1)) : name === word;
  });
}

export function isMember(rules: RuleSet, { user, at }: Person, name: string): boolean {
  const { users, hosts, addresses, groups } = rules.groups[name] as RuleSet['groups'][string];
  return (
    isNamed(user, users) ||
    isNamed(at.hostname ?? at.address, hosts) ||
    isNamed(at.address, addresses) ||
    groups.some((inner) => isMember(rules, { user, at }, inner))
  );
}

/** The histories know addresses of IPv4, and of one network of IPv6. */
export function networkOf(address: string | null): string | null {
  return address?.includes(':') ? 'the network' : address;
}

/** Whether a limit counts both alike. */
function isTogether(rules: RuleSet, { of }: Limit, a: Person, b: Person): boolean {
  if ('group' in of) return isMember(rules, a, of.group) && isMember(rules, b, of.group);
  const [one, other] = [a.at, b.at].map((at) =>
    of.each === 'host' ? (at.hostname ?? at.address) : networkOf(at.address),
  );
  return one !== null && one === other;
}

export function countLimited(rules: RuleSet, limit: Limit, held: readonly Person[], who: Person): number {
  return held.filter((one) => isTogether(rules, limit, one, who)).length;
}

export function listLimits(rules: RuleSet, { limit }: SlotRules, now: Instant): readonly Limit[] {
  return limit.filter((one) => isInForce(rules, one, now));
}

export function listReservations(
  rules: RuleSet,
  { reserve }: SlotRules,
  now: Instant,
): readonly Reservation[] {
  return reserve.filter((one) => isInForce(rules, one, now));
}

function subsetsOf<T>(all: readonly T[]): readonly (readonly T[])[] {
  return Array.from({ length: 2 ** all.length }, (_, set) => all.filter((_, index) => (set >> index) & 1));
}

/** The largest value, over all sets, of what they reserve minus the slots of members of their groups. */
export function stillToCome(
  rules: RuleSet,
  reservations: readonly Reservation[],
  held: readonly Person[],
): number {
  const values = subsetsOf(reservations).map((set) => {
    const reserved = set.reduce((sum, { slots }) => sum + slots, 0);
    return reserved - held.filter((who) => set.some((one) => isMember(rules, who, one.for))).length;
  });
  return Math.max(...values);
}

const during = (rule: { during: string | null }) => (rule.during === null ? '' : ` during ${rule.during}`);

function refuseFor(details: NonNullable<Refusal['details']>): Refusal {
  return { kind: 'refused', code: 'floating_not_available', details };
}

export function refuseByLimit(
  rules: RuleSet,
  own: SlotRules,
  { held }: Holdings,
  who: Person,
  now: Instant,
): Refusal | null {
  for (const limit of listLimits(rules, own, now)) {
    const { slots, of } = limit;
    if (!isTogether(rules, limit, who, who)) continue;
    const inUse = countLimited(rules, limit, held, who);
    const whom = 'group' in of ? of.group : `each ${of.each}`;
    if (inUse >= slots)
      return refuseFor({ rule: `limit ${slots} for ${whom}${during(limit)}`, limit: slots, inUse });
  }
  return null;
}

export function refuseByReservation(
  rules: RuleSet,
  own: SlotRules,
  { filling, free }: Holdings,
  who: Person,
  now: Instant,
): Refusal | null {
  const reservations = listReservations(rules, own, now);
  const toCome = stillToCome(rules, reservations, filling);
  if (free > toCome || stillToCome(rules, reservations, [...filling, who]) < toCome) return null;
  const unfilled = reservations.filter((one) => {
    const others = reservations.filter((other) => other !== one);
    return stillToCome(rules, others, filling) < toCome;
  });
  const rule = unfilled.map((one) => `reserve ${one.slots} for ${one.for}${during(one)}`).join(', ');
  return refuseFor({ rule, reservedFor: [...new Set(unfilled.map((one) => one.for))], free });
}

/** Whether nothing that is counted would change if the holder were at the other place. */
export function countsAlike(rules: RuleSet, { reserve, limit }: SlotRules, a: Person, b: Person): boolean {
  const groups = [
    ...reserve.map((one) => one.for),
    ...limit.flatMap(({ of }) => ('group' in of ? of.group : [])),
  ];
  const places = limit.filter(({ of }) => 'each' in of);
  return (
    groups.every((name) => isMember(rules, a, name) === isMember(rules, b, name)) &&
    places.every(
      (one) =>
        isTogether(rules, one, a, b) || (!isTogether(rules, one, a, a) && !isTogether(rules, one, b, b)),
    )
  );
}

/** Whether a slot could be lent to `who`, as far as the rules say. */
export function mayLend(
  rules: RuleSet,
  own: SlotRules,
  holdings: Holdings,
  who: Person,
  now: Instant,
): boolean {
  if (holdings.free === 0 || refuseByLimit(rules, own, holdings, who, now) !== null) return false;
  return refuseByReservation(rules, own, holdings, who, now) === null;
}

/** Whether deny or allow keep somebody out; `allow` is not about those who only count. */
export function isKeptOut(rules: RuleSet, who: Person, isSlot: boolean): boolean {
  if (isNamed(who.user, rules.deny.users)) return true;
  const own = rules.products.cad;
  return own !== undefined && isKeptOutBy(rules, own, who, isSlot);
}

export function isKeptOutBy(rules: RuleSet, { deny, allow }: SlotRules, who: Person, isSlot = true): boolean {
  if (deny.groups.some((name) => isMember(rules, who, name))) return true;
  return isSlot && allow !== null && !allow.some((name) => isMember(rules, who, name));
}

/** In line; `who` may be in several groups. */
export function levelOf(rules: RuleSet, who: Person, now: Instant): number {
  const own = (rules.products.cad?.priority ?? []).filter(
    (one) => isInForce(rules, one, now) && isMember(rules, who, one.for),
  );
  return own.length === 0 ? 0 : Math.max(...own.map(({ level }) => level));
}

export function findBorrowRules(rules: RuleSet, now: Instant): BorrowRules | null {
  const borrow = rules.products.cad?.borrow ?? null;
  return borrow !== null && isInForce(rules, borrow, now) ? borrow : null;
}

export function refuseKept(keep: number, slots: number, borrowed: number): Refusal | null {
  if (keep === 0 || borrowed < slots - keep) return null;
  return refuseFor({ rule: `borrow keep ${keep}`, slots, borrowed, keep });
}
