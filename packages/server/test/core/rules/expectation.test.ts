import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instant } from '../../../src/core/nouns/instant.ts';
import { checkExpectation, type Expectation } from '../../../src/core/rules/expectation.ts';
import { NO_NAMES, type RuleSet } from '../../../src/core/rules/rule-set.ts';
import { ruling } from '../examples.ts';

const MONDAYS = { days: [1], from: 0, to: 24 * 60, zone: 'UTC' };
const MONDAY = instant(Date.UTC(2030, 0, 14, 12));
const TUESDAY = instant(Date.UTC(2030, 0, 15, 12));

const RULES: RuleSet = {
  ...ruling({
    deny: { ...NO_NAMES, users: ['mallory'] },
    allow: ['team', 'ext'],
    limit: [
      { line: 1, during: 'mondays', slots: 2, of: { group: 'ext' } },
      { line: 2, during: null, slots: 1, of: { each: 'host' } },
    ],
    reserve: [{ line: 3, during: null, slots: 2, for: 'team' }],
  }),
  times: { mondays: MONDAYS },
  groups: {
    team: { ...NO_NAMES, users: ['ada'] },
    ext: { ...NO_NAMES, users: ['x-*'] },
  },
};

const EXPECTED: Expectation = {
  user: 'ada',
  hostname: 'h',
  address: null,
  groups: [],
  product: 'cad',
  feature: null,
  held: {},
  heldAt: { host: 0, address: 0 },
  free: null,
  at: null,
  answer: 'served',
  rule: null,
};

const LIMIT = 'limit 2 for ext during mondays';

test('an example of the rules is checked, and the message tells the answer', () => {
  const x = { ...EXPECTED, user: 'x-1' };
  const refused = { answer: 'refused' } as const;
  const rows: [Partial<Expectation>, boolean, string][] = [
    [EXPECTED, true, 'ada and cad: served.'],
    [refused, false, 'ada and cad: served, but expected was: refused.'],
    [{ ...refused, user: 'mallory', rule: 'deny' }, true, 'mallory and cad: refused (deny by user).'],
    [{ ...refused, user: 'bob', rule: 'allow' }, true, 'bob and cad: refused (allow team, ext).'],
    [
      { ...refused, user: 'bob', rule: 'deny' },
      false,
      'bob and cad: refused (allow team, ext), but expected was: refused (deny).',
    ],
    [{ ...x, held: { ext: 1 } }, true, 'x-1 and cad: served.'],
    [{ ...x, ...refused, held: { ext: 2 }, rule: LIMIT }, true, `x-1 and cad: refused (${LIMIT}).`],
    [
      { ...x, ...refused, groups: ['team'], held: { ext: 2 }, rule: LIMIT },
      true,
      `x-1 and cad: refused (${LIMIT}).`,
    ],
    [{ ...x, held: { ext: 2 }, at: TUESDAY }, true, 'x-1 and cad: served.'],
    [{ ...x, ...refused, held: { ext: 2 }, at: MONDAY }, true, `x-1 and cad: refused (${LIMIT}).`],
    [
      { ...refused, heldAt: { host: 1, address: 0 }, rule: 'limit' },
      true,
      'ada and cad: refused (limit 1 for each host).',
    ],
    [{ ...refused, free: 0 }, true, 'ada and cad: refused, because no slot is free.'],
    [{ ...refused, free: 0, product: 'cam' }, true, 'ada and cam: refused, because no slot is free.'],
    [{ free: 1, product: 'cam', feature: 'mesh' }, true, 'ada and mesh of cam: served.'],
    [{ ...x, ...refused, free: 2, rule: 'reserve' }, true, 'x-1 and cad: refused (reserve 2 for team).'],
    [{ ...x, free: 2, held: { team: 1 } }, true, 'x-1 and cad: served.'],
    [{ free: 1 }, true, 'ada and cad: served.'],
  ];
  for (const [facts, ok, message] of rows) {
    assert.deepEqual(checkExpectation(RULES, { ...EXPECTED, ...facts }), { ok, message });
  }
});
