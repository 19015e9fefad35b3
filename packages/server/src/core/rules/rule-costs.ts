import type { Expectation } from './expectation.ts';
import { findSlotRules } from './find-rules.ts';
import { countCompared, countMembers } from './groups.ts';
import { countPatterns, indexNames } from './names.ts';
import type { NameLists, RuleSet, SlotRules } from './rule-set.ts';
import { listUsedTimes, MAX_TYPICAL } from './warnings.ts';

/**
 * What rules may cost. The sums are far above what anyone writes by hand, and counted before anything is done
 * with a new text. Rules in force are not measured: they were when they were applied, or are older than this.
 */
export const MAX_RULE_COSTS = {
  /** Each request tries them one by one: a millisecond. */
  compared: 20_000,
  /** With groups within groups: trials and reports name the groups of people. */
  members: 5_000_000,
  /** Comparisons for examples and warnings: some seconds. */
  steps: 100_000_000,
} as const;

export type RuleCosts = Readonly<Record<keyof typeof MAX_RULE_COSTS, number>>;

/** `members` is counted on to what is allowed. */
export function measureRules(rules: RuleSet, expectations: readonly Expectation[]): RuleCosts {
  const compared = countComparedByAll(rules);
  return {
    compared,
    members: countMembers(rules, MAX_RULE_COSTS.members),
    steps: countExpected(rules, expectations, compared) + countWarned(rules, compared),
  };
}

/** For a request for a feature of the product with the longest lists. */
function countComparedByAll(rules: RuleSet): number {
  const inProducts = Object.values(rules.products).map(
    ({ deny, features }) =>
      countListed(deny) + Math.max(0, ...Object.values(features).map((one) => countListed(one.deny))),
  );
  return countCompared(rules) + countListed(rules.deny) + Math.max(0, ...inProducts);
}

function countListed(lists: NameLists): number {
  const names = indexNames(lists);
  return countPatterns(names) + names.ranges.length;
}

/** Who holds slots is assigned to reservations, which takes the square of both. */
function countExpected(rules: RuleSet, expectations: readonly Expectation[], compared: number): number {
  return sum(expectations, ({ product, feature, held }) => {
    const { reserve = [] } = findSlotRules(rules, product, feature) ?? {};
    return compared + (Object.keys(held).length * reserve.length) ** 2;
  });
}

function countWarned({ products }: RuleSet, compared: number): number {
  const scopes: readonly SlotRules[] = Object.values(products).flatMap((own) => [
    own,
    ...Object.values(own.features),
  ]);
  const reserved = new Set(scopes.flatMap(({ reserve }) => reserve.map((rule) => rule.for)));
  const inScopes = sum(scopes, (own) => {
    const { reserve, limit, allow } = own;
    const moments = 1 + MOMENTS_A_TIME * listUsedTimes(own).length;
    const allowed = MAX_TYPICAL * reserve.length * (allow?.length ?? 0);
    return allowed + moments * (1 + reserve.length) * (1 + limit.length);
  });
  return inScopes + reserved.size * MAX_TYPICAL * compared;
}

/** The days of a week in winter and of one in summer; looking at one takes as long as five comparisons. */
const MOMENTS_A_TIME = 14 * 5;

function sum<T>(all: readonly T[], count: (one: T) => number): number {
  return all.reduce((total, one) => total + count(one), 0);
}
