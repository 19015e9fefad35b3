import type {
  Group,
  Limit,
  ProductRules,
  Reservation,
  RuleSet,
  SlotRules,
} from '../../../src/core/rules/rule-set.ts';
import { EMPTY_RULE_SET, NO_NAMES } from '../../../src/core/rules/rule-set.ts';
import type { Executed } from '../../../src/store/store.ts';
import type { ExamStore } from './exam-store.ts';

/** Members by these names, hosts, addresses or groups. */
export function group(members: Partial<Group>): Group {
  return { ...NO_NAMES, ...members };
}

export function reserve(slots: number, whom: string, during: string | null = null): Reservation {
  return { slots, for: whom, during, line: 1 };
}

/** Of a group together. */
export function limitGroup(slots: number, whom: string, during: string | null = null): Limit {
  return { slots, of: { group: whom }, during, line: 1 };
}

export function limitEach(slots: number, each: 'host' | 'address', during: string | null = null): Limit {
  return { slots, of: { each }, during, line: 1 };
}

const NO_RULES: SlotRules = { allow: null, deny: NO_NAMES, reserve: [], limit: [] };

export function slotRules(rules: Partial<SlotRules>): SlotRules {
  return { ...NO_RULES, ...rules };
}

function productRules(rules: Partial<ProductRules>): ProductRules {
  return { ...NO_RULES, borrow: null, priority: [], features: {}, ...rules };
}

/** Whoever is called `a…` is in `a`, `b…` in `b`; `ab…` in both, and `staff` contains both. */
const GROUPS = {
  a: group({ users: ['a*'] }),
  b: group({ users: ['b*', 'ab*'] }),
  staff: group({ groups: ['a', 'b'] }),
  lab: group({ hosts: ['lab-*'], addresses: ['10.9.0.0/16'] }),
};

/** Rules for "cad". */
export function cadRules(cad: Partial<ProductRules>, more: Partial<RuleSet> = {}): RuleSet {
  return { ...EMPTY_RULE_SET, groups: GROUPS, products: { cad: productRules(cad) }, ...more };
}

export function setRules(exam: ExamStore, rules: RuleSet): Promise<Executed> {
  return exam.execute({ kind: 'set_rules', text: JSON.stringify(rules), rules, by: 'admin' });
}
