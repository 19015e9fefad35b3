import type { Group, Limit, ProductRules, RuleSet, SlotRules } from '@berth/server/core/rules/rule-set';
import { pickNumber, pickOne, type Random } from '../support/random.ts';

export const FEATURE = 'render';

const GROUPS: Readonly<Record<string, Group>> = {
  team: { users: ['t-*'], hosts: [], addresses: [], groups: [] },
  ext: { users: ['x-*'], hosts: [], addresses: [], groups: [] },
  lab: { users: [], hosts: ['lab-*'], addresses: [], groups: [] },
  site: { users: [], hosts: [], addresses: ['10.0.0.0/24', '2001:db8::/32'], groups: [] },
  staff: { users: ['n-1*'], hosts: [], addresses: [], groups: ['team', 'lab'] },
};

const NAMES = Object.keys(GROUPS);
const NOBODY = { users: [], hosts: [], addresses: [], groups: [] };

export function makeUpRules(random: Random, product: string): RuleSet {
  const times = { office: { days: [1, 2, 3, 4, 5], from: 8 * 60, to: 18 * 60, zone: 'Europe/Berlin' } };
  const own: ProductRules = {
    ...makeUpSlotRules(random),
    borrow: random() < 0.7 ? makeUpBorrow(random) : null,
    priority: [],
    features: random() < 0.8 ? { [FEATURE]: makeUpSlotRules(random) } : {},
  };
  return { groups: GROUPS, times, deny: NOBODY, products: { [product]: own } };
}

function makeUpSlotRules(random: Random): SlotRules {
  const some = <T>(make: () => T) => Array.from({ length: pickNumber(random, { from: 0, to: 3 }) }, make);
  const line = () => pickNumber(random, { from: 1, to: 99 });
  const during = () => pickOne(random, [null, 'office']);
  const slots = () => pickNumber(random, { from: 1, to: 3 });
  const of = (): Limit['of'] =>
    pickOne(random, [{ group: pickOne(random, NAMES) }, { each: 'host' }, { each: 'address' }] as const);
  return {
    allow: random() < 0.2 ? ['staff', pickOne(random, NAMES)] : null,
    deny: random() < 0.2 ? { ...NOBODY, groups: [pickOne(random, NAMES)] } : NOBODY,
    reserve: some(() => ({ slots: slots(), for: pickOne(random, NAMES), line: line(), during: during() })),
    limit: some(() => ({ slots: slots() + 1, of: of(), line: line(), during: during() })),
  };
}

function makeUpBorrow(random: Random) {
  return {
    allow: pickOne(random, [null, ['staff', 'ext']]),
    hours: pickOne(random, [null, 2, 24]),
    keep: pickNumber(random, { from: 0, to: 4 }),
    perAddress: pickOne(random, [null, 1, 2]),
    line: 50,
    during: pickOne(random, [null, 'office']),
  };
}
