import { placeOf } from '@berth/protocol/address-range';
import { BORROW_TOLERANCE_MS } from '../lending/borrow-until.ts';
import { HOUR_MS, type Instant } from '../nouns/instant.ts';
import type { Refused } from '../outcome.ts';
import { refuseByAccess } from '../rules/admit.ts';
import { listGroups, type Person } from '../rules/groups.ts';
import {
  type CountedAs,
  countAs,
  nameLimit,
  nameReservation,
  refuseByLimit,
  refuseByReservation,
} from '../rules/judge-slot.ts';
import { NO_NAMES, type RuleSet, type SlotRules } from '../rules/rule-set.ts';
import { isDuring } from '../rules/times.ts';
import { countFeatureFree, countFree, featureCounts, type Pool, type PooledLicense } from './pool.ts';
import { sumCounts } from './slot-counts.ts';

/** Why rules refuse. `rule`: in a few words; `null`: no slot is free. */
export interface Verdict {
  readonly rule: string | null;
  /** In the text; `null`: unknown. */
  readonly line: number | null;
}

const FULL: Verdict = { rule: null, line: null };

const NO_SLOT_RULES: SlotRules = { allow: null, deny: NO_NAMES, reserve: [], limit: [] };

export function slotRulesOf({ products }: RuleSet, product: string, feature: string | null): SlotRules {
  const own = products[product];
  return (feature === null ? own : own?.features[feature]) ?? NO_SLOT_RULES;
}

/** Who asks for what. */
export interface Request extends Person {
  readonly product: string;
  readonly feature: string | null;
}

export function countRequest(rules: RuleSet, request: Request): CountedAs {
  return countAs(rules, slotRulesOf(rules, request.product, request.feature), request);
}

/** Whether `deny` or `allow` keeps the person out. */
export function judgeAccess(rules: RuleSet, request: Request): Verdict | null {
  const { user, hostname, address, product, feature } = request;
  const host = { hostname, address: null, info: null };
  const by = { name: 'client', address: address ?? '' };
  return verdictOf(
    rules,
    request,
    refuseByAccess(rules, { user, host, by }, { product, feature, isSlot: true }),
  );
}

/** Limit, full, reserve: for somebody who takes a slot of the product. */
export function judgeSlot(rules: RuleSet, pool: Pool, request: Request, now: Instant): Verdict | null {
  const own = slotRulesOf(rules, request.product, null);
  const usable = pool.listUsable(now);
  const free = usable.reduce((sum, license) => sum + countFree(license), 0);
  if (own === NO_SLOT_RULES) return free === 0 ? FULL : null;
  const slots = usable.reduce((sum, license) => sum + license.slots, 0);
  const supply = { name: request.product, slots, free };
  const held = sumCounts(usable.map(({ counts }) => counts));
  const as = countAs(rules, own, request);
  const limited = verdictOf(rules, request, refuseByLimit(rules, own, supply, held, as, now));
  if (limited !== null) return limited;
  if (free === 0) return FULL;
  return verdictOf(rules, request, refuseByReservation(rules, own, supply, held, as, now));
}

/** The same for a feature: limits hold for all licenses, reservations for the one that the holder has a slot of. */
export function judgeFeature(
  rules: RuleSet,
  pool: Pool,
  { on, request }: { readonly on: PooledLicense; readonly request: Request & { readonly feature: string } },
  now: Instant,
): Verdict | null {
  const { feature } = request;
  const own = slotRulesOf(rules, request.product, feature);
  const as = countAs(rules, own, request);
  const free = countFeatureFree(on, feature);
  const supply = { name: feature, slots: on.facts.features.get(feature) ?? free, free };
  const held = sumCounts(pool.listUsable(now).map((license) => featureCounts(license, feature)));
  const limited = verdictOf(rules, request, refuseByLimit(rules, own, supply, held, as, now));
  if (limited !== null) return limited;
  if (free === 0) return FULL;
  const reserved = refuseByReservation(rules, own, supply, featureCounts(on, feature), as, now);
  return verdictOf(rules, request, reserved);
}

/** Who may borrow, and for how long. `longestHours`: what the license allows. */
export function judgeBorrower(
  rules: RuleSet,
  request: Request,
  borrow: { readonly until: Instant; readonly longestHours: number },
  now: Instant,
): Verdict | null {
  const own = findBorrow(rules, request.product, now);
  if (own === null) return null;
  const { allow, hours, line } = own;
  if (allow !== null) {
    const groups = listGroups(rules, request);
    if (!allow.some((group) => groups.has(group))) return { rule: `borrow allow ${allow.join(', ')}`, line };
  }
  // Who asked for the longest possible time gets as much as the rules allow.
  const isLongest = borrow.until === now + borrow.longestHours * HOUR_MS;
  const isTooLong = hours !== null && borrow.until > now + hours * HOUR_MS + BORROW_TOLERANCE_MS;
  return isTooLong && !isLongest ? { rule: `borrow hours ${hours}`, line } : null;
}

/** Whether one more slot may be borrowed. */
export function judgeMoreBorrows(rules: RuleSet, pool: Pool, request: Request, now: Instant): Verdict | null {
  const own = findBorrow(rules, request.product, now);
  if (own === null) return null;
  const { keep, perAddress, line } = own;
  const usable = pool.listUsable(now);
  const slots = usable.reduce((sum, license) => sum + license.slots, 0);
  const borrowed = usable.reduce((sum, license) => sum + license.borrowed.held, 0);
  if (keep > 0 && borrowed >= slots - keep) return { rule: `borrow keep ${keep}`, line };
  if (perAddress === null || request.address === null) return null;
  const crowd = sumCounts(usable.map((license) => license.borrowed));
  const isFull = crowd.countAt('address', placeOf(request.address)) >= perAddress;
  return isFull ? { rule: `borrow perAddress ${perAddress}`, line } : null;
}

function findBorrow(rules: RuleSet, product: string, now: Instant) {
  const borrow = rules.products[product]?.borrow ?? null;
  return borrow !== null && isDuring(rules, borrow.during, now) ? borrow : null;
}

function verdictOf(rules: RuleSet, { product, feature }: Request, refused: Refused | null): Verdict | null {
  if (refused === null) return null;
  const rule = refused.details.rule as string;
  return { rule, line: findLine(slotRulesOf(rules, product, feature), rule) };
}

/** A refusal names its rule; several reservations are joined. */
function findLine({ reserve, limit }: SlotRules, rule: string): number | null {
  const isNamed = (name: string) => rule === name || rule.startsWith(`${name}, `);
  const found =
    limit.find((one) => isNamed(nameLimit(one))) ?? reserve.find((one) => isNamed(nameReservation(one)));
  return found?.line ?? null;
}
