import type { Limit, RuleSet } from '../../packages/server/src/core/rules/rule-set.ts';
import { EMPTY_RULE_SET, NO_NAMES } from '../../packages/server/src/core/rules/rule-set.ts';
import { userDigits } from './load/load-plan.ts';

const GROUPS = 10;
const MEMBERS = 1000;
const RULES = 50;

/** Ten groups of 1,000 members, and 50 rules of each product that all apply and refuse nobody. */
export function benchRules(...products: readonly string[]): RuleSet {
  const names = Array.from({ length: GROUPS }, (_, group) => `group-${group}`);
  const groups = names.map((name, group) => [name, { ...NO_NAMES, users: membersOf(group) }] as const);
  const reserve = names.map((name, line) => ({ slots: 2, for: name, during: null, line }));
  const places = (['host', 'address'] as const).map((each) => limitOf({ each }));
  const limits = Array.from({ length: RULES - GROUPS - places.length }, (_, index) =>
    limitOf({ group: names[index % GROUPS] as string }),
  );
  const own = { allow: null, deny: NO_NAMES, reserve, limit: [...limits, ...places] };
  const rules = { ...own, borrow: null, priority: [], features: {} };
  return {
    ...EMPTY_RULE_SET,
    groups: Object.fromEntries(groups),
    products: Object.fromEntries(products.map((product) => [product, rules])),
  };
}

/** Every tenth user. */
function membersOf(group: number): readonly string[] {
  return Array.from({ length: MEMBERS }, (_, index) => `user-${userDigits(index * GROUPS + group)}`);
}

function limitOf(of: Limit['of']): Limit {
  return { slots: 1_000_000, of, during: null, line: 1 };
}
