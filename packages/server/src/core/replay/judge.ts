import { placeOf } from '@berth/protocol/address-range';
import { BORROW_TOLERANCE_MS } from '../lending/borrow-until.ts';
import {
  type BorrowView,
  findBorrowRules,
  latestByRules,
  refuseBorrower,
  refuseMoreBorrows,
} from '../lending/count-slots.ts';
import { earlier, HOUR_MS, type Instant, plus } from '../nouns/instant.ts';
import type { Refused } from '../outcome.ts';
import { findAccessRule } from '../rules/admit.ts';
import { findLine } from '../rules/explain.ts';
import { findSlotRules } from '../rules/find-rules.ts';
import type { Person } from '../rules/groups.ts';
import { type CountedAs, countAs, refuseByLimit, refuseByReservation } from '../rules/judge-slot.ts';
import { type BorrowRules, NO_NAMES, type RuleSet, type SlotRules } from '../rules/rule-set.ts';
import type { Asker } from '../rules/rules.ts';
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

export function slotRulesOf(rules: RuleSet, product: string, feature: string | null): SlotRules {
  return findSlotRules(rules, product, feature) ?? NO_SLOT_RULES;
}

/** Who asks for what. */
export interface Request extends Person {
  readonly product: string;
  readonly feature: string | null;
}

export function countRequest(rules: RuleSet, request: Request): CountedAs {
  return countAs(rules, slotRulesOf(rules, request.product, request.feature), request);
}

/** Whether `deny` or `allow` keeps the person out. The log does not have the address that a client claims. */
export function judgeAccess(rules: RuleSet, request: Request): Verdict | null {
  const { product, feature } = request;
  const found = findAccessRule(rules, { ...request, claimedAddress: null }, product, feature);
  return found === null ? null : { rule: found.text, line: found.line };
}

/** Limit, full, reserve: for somebody who takes a slot of the product. `named`: on this license only. */
export function judgeSlot(
  rules: RuleSet,
  pool: Pool,
  { named, ...request }: Request & { readonly named: PooledLicense | null },
  now: Instant,
): Verdict | null {
  const own = slotRulesOf(rules, request.product, null);
  const isFull = pool.choose(named, now) === null;
  if (own === NO_SLOT_RULES) return isFull ? FULL : null;
  const usable = pool.listUsable(now);
  const free = usable.reduce((sum, license) => sum + countFree(license), 0);
  const slots = usable.reduce((sum, license) => sum + license.slots, 0);
  const supply = { name: request.product, slots, free };
  const held = sumCounts(usable.map(({ counts }) => counts));
  const as = countAs(rules, own, request);
  const limited = verdictOf(rules, request, refuseByLimit(rules, own, supply, held, as, now));
  if (limited !== null) return limited;
  if (isFull) return FULL;
  return verdictOf(rules, request, refuseByReservation(rules, own, supply, held, as, now));
}

/** The same for a feature: limits hold for all licenses, reservations for that of the holder's slot. */
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
  const view = borrowView(rules, [], request);
  const own = findBorrowRules(view, now);
  const refused = refuseBorrower(own, askerOf(request), view);
  if (refused !== null) return borrowVerdict(own, refused);
  const byRules = latestByRules(own, now);
  // Who asked for the longest possible time gets as much as the rules allow.
  const isLongest = borrow.until === plus(now, borrow.longestHours * HOUR_MS);
  if (byRules === null || isLongest || borrow.until <= byRules.latest + BORROW_TOLERANCE_MS) return null;
  return { rule: byRules.rule, line: own?.line ?? null };
}

/** When a borrow ends: not later than the rules allow. */
export function endOfBorrow(rules: RuleSet, request: Request, until: Instant, now: Instant): Instant {
  const byRules = latestByRules(findBorrowRules(borrowView(rules, [], request), now), now);
  return byRules === null ? until : earlier(until, byRules.latest);
}

/** Whether one more slot may be borrowed. */
export function judgeMoreBorrows(rules: RuleSet, pool: Pool, request: Request, now: Instant): Verdict | null {
  const view = borrowView(rules, pool.listUsable(now), request);
  const own = findBorrowRules(view, now);
  return borrowVerdict(own, refuseMoreBorrows(own, askerOf(request), view));
}

function borrowView(rules: RuleSet, usable: readonly PooledLicense[], request: Request): BorrowView {
  const { product, address } = request;
  const borrowed = sumCounts(usable.map((license) => license.borrowed));
  const sumOf = (count: (license: PooledLicense) => number) =>
    usable.reduce((sum, license) => sum + count(license), 0);
  return {
    rules: { set: rules },
    license: { product },
    countPoolBorrows: (range) => ({
      slots: sumOf(({ slots }) => slots),
      borrowed:
        range === null || address === null
          ? sumOf((license) => license.borrowed.held)
          : borrowed.countAt('address', placeOf(address)),
    }),
  };
}

function borrowVerdict(own: BorrowRules | null, refused: Refused | null): Verdict | null {
  return refused === null ? null : { rule: refused.details.rule as string, line: own?.line ?? null };
}

function askerOf({ user, hostname, address }: Request): Asker {
  const by = address === null ? 'client' : { name: 'client', address };
  return { user, host: { hostname, address: null, info: null }, by };
}

function verdictOf(rules: RuleSet, { product, feature }: Request, refused: Refused | null): Verdict | null {
  if (refused === null) return null;
  const rule = refused.details.rule as string;
  return { rule, line: findLine(slotRulesOf(rules, product, feature), rule) };
}
