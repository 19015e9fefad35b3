import type { ProductRules, RuleSet, SlotRules } from '@berth/server/core/rules/rule-set';
import fc from 'fast-check';
import { denying, ruling } from '../../packages/server/test/core/examples.ts';
import { group, slotRules } from '../../packages/server/test/store/exam/rule-sets.ts';
import { FEATURE } from './counting-model.ts';

/** Eve is in `cad` and in `sim`, `all` contains `cad` and `lab`, and guests are those who are made up. */
const GROUPS: RuleSet['groups'] = {
  cad: group({ users: ['ada', 'e*'] }),
  sim: group({ users: ['bob', 'eve'] }),
  lab: group({ hosts: ['lab-*'], addresses: ['10.0.0.0/24'] }),
  all: group({ groups: ['cad', 'lab'], users: ['zoe'] }),
  guests: group({ users: ['invented-*'] }),
};

const TIMES: RuleSet['times'] = {
  office: { days: [1, 2, 3, 4, 5], from: 8 * 60, to: 18 * 60, zone: 'UTC' },
  night: { days: [0, 2, 3, 6], from: 22 * 60 + 15, to: 6 * 60, zone: 'Asia/Kolkata' },
};

const name = fc.constantFrom(...Object.keys(GROUPS));
const during = fc.constantFrom(null, null, null, 'office', 'night');
const line = fc.constant(1);
const few = fc.constantFrom(1, 1, 2, 3);

const reserve = fc.record({ slots: few, for: name, during, line });
const limited = fc.oneof(
  name.map((one) => ({ group: one })),
  fc.constantFrom({ each: 'host' as const }, { each: 'address' as const }),
);
const limit = fc.record({ slots: fc.constantFrom(0, 1, 1, 2, 3), of: limited, during, line });

const borrow = fc.record({
  allow: fc.constantFrom(null, null, ['cad'], ['all']),
  hours: fc.constantFrom(null, null, 1, 30),
  keep: fc.constantFrom(0, 0, 2, 4, 5, 6),
  perAddress: fc.constantFrom(null, null, 0, 1),
  during,
  line,
});

const counted: fc.Arbitrary<Partial<SlotRules>> = fc.record({
  reserve: fc.array(reserve, { maxLength: 3 }),
  limit: fc.array(limit, { maxLength: 2 }),
});

const priority = fc.record({ for: name, level: fc.constantFrom(-5, 10, 10, 20), during, line });

/** Those who ask for the feature say no place, so only holders who move to the lab are denied. */
const deniedPlaces = fc.constantFrom([], ['lab']).map((groups) => group({ groups }));
const feature = fc
  .tuple(counted, deniedPlaces)
  .map(([rules, deny]) => ({ [FEATURE]: slotRules({ ...rules, deny }) }));

const product: fc.Arbitrary<Partial<ProductRules>> = fc
  .tuple(
    counted,
    fc.record({
      allow: fc.constantFrom(null, null, null, null, ['all', 'sim']),
      deny: fc.constantFrom([], [], [], ['guests']).map((groups) => ({ ...denying({}).deny, groups })),
      borrow: fc.option(borrow, { freq: 2 }),
      priority: fc.oneof(fc.constant([]), fc.array(priority, { maxLength: 3 })),
      features: fc.oneof(fc.constant({}), feature),
    }),
  )
  .map(([slots, others]) => ({ ...slots, ...others }));

const denied = fc.constantFrom([], [], [], ['ada'], ['bob', 'eve']);

/** Rules with nothing in them are among them. */
export const RULES: fc.Arbitrary<RuleSet> = fc.tuple(denied, fc.option(product, { freq: 8 })).map(
  ([users, own]): RuleSet => ({
    ...denying({ users }),
    groups: GROUPS,
    times: TIMES,
    products: own === null ? {} : ruling(own).products,
  }),
);
