import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ProductFacts } from '../../../src/core/rules/warnings.ts';
import { parseRules } from '../../../src/services/rules/parse-rules.ts';

const FACTS: readonly ProductFacts[] = [
  { product: 'cad', slots: 5, features: [{ feature: 'render', slots: 1 }], unfilled: [] },
];

const GROUPS = `groups:
  team:   { users: [ada, "cad-*"] }
  staff:  { groups: [team], users: [bob] }
  guests: { users: [eve, "ext-*"] }
  farm:   { hosts: ["node-*"] }
  one:    { users: [ext-7] }
times:
  day:   { from: "08:00", to: "20:00", zone: UTC }
  night: { from: "20:00", to: "08:00", zone: UTC }
  late:  { from: "19:00", to: "23:00", zone: UTC }
  paris: { from: "20:00", to: "08:00", zone: Europe/Paris }
  tokyo: { from: "08:00", to: "16:00", zone: Asia/Tokyo }
  london: { from: "20:00", to: "21:00", zone: Europe/London }
products:
`;

/** What is warned of in the rules of `cad`, each as `line:column message`. */
function warningsOf(rules: string, facts: readonly ProductFacts[] | null = null, product = 'cad') {
  const parsed = parseRules(`${GROUPS}  ${product}: { ${rules} }`, facts);
  assert.ok(!('errors' in parsed), JSON.stringify(parsed));
  return parsed.warnings.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

const twice = (first: string, second: string) =>
  `reserve: [{ slots: 3, for: team${first} }, { slots: 3, for: guests${second} }]`;

describe('more reserved than there are slots', () => {
  const WARNING =
    '15:10 6 slots are reserved at the same time, but there are only 5. ' +
    'They go to members first, whoever comes first.';
  for (const [first, second, isWarned] of [
    ['', '', true],
    [', during: day', '', true],
    [', during: day', ', during: day', true],
    [', during: day', ', during: night', false],
    [', during: day', ', during: late', true],
    [', during: night', ', during: paris', true],
    [', during: day', ', during: tokyo', false],
    [', during: day', ', during: london', true],
  ] as const) {
    test(`${first || 'always'} and ${second || 'always'}`, () => {
      assert.deepEqual(warningsOf(twice(first, second), FACTS), isWarned ? [WARNING] : []);
    });
  }

  test('nothing is known without the products', () => {
    assert.deepEqual(warningsOf(twice('', '')), []);
  });

  test('of a feature', () => {
    const reserve = (slots: number) => `features: { render: { reserve: [{ slots: ${slots}, for: team }] } }`;
    assert.match(warningsOf(reserve(2), FACTS).join(), /^15:32 2 slots are reserved at the same time/);
    assert.deepEqual(warningsOf(reserve(1), FACTS), []);
  });
});

describe('more reserved than a limit allows', () => {
  const rules = (slots: number, group: string, during = '') =>
    'reserve: [{ slots: 2, for: team }, { slots: 1, for: guests }], ' +
    `limit: [{ slots: ${slots}, for: ${group}${during} }]`;
  test('the same group, or one that contains it', () => {
    const message =
      '2 slots are reserved for members of team, but "limit 1 for team" allows fewer. The rest stays free.';
    assert.deepEqual(warningsOf(rules(1, 'team')), [`15:81 ${message}`]);
    assert.match(warningsOf(rules(1, 'staff')).join(), /members of staff, but "limit 1 for staff"/);
    assert.match(warningsOf(rules(1, 'team', ', during: day')).join(), /"limit 1 for team during day"/);
    assert.deepEqual(warningsOf(rules(2, 'team')), []);
    assert.deepEqual(warningsOf(rules(0, 'farm')), []);
  });
});

test('a reservation that nobody has filled', () => {
  const [cad] = FACTS as [ProductFacts];
  const warned = (feature: string | null, rule: string) =>
    warningsOf(
      'reserve: [{ slots: 1, for: guests }, { slots: 2, for: team }], ' +
        'features: { render: { reserve: [{ slots: 1, for: team }] } }',
      [{ ...cad, unfilled: [{ feature, rule }] }],
    );
  assert.deepEqual(warned(null, 'reserve 2 for team'), [
    '15:47 Nobody has used "reserve 2 for team" for 30 days: its slots stayed free all that time.',
  ]);
  assert.match(warned('render', 'reserve 1 for team').join(), /^15:\d+ Nobody .* "reserve 1 for team"/);
  assert.deepEqual(warned(null, 'reserve 1 for team'), []);
  assert.deepEqual(warned('render', 'reserve 2 for team'), []);
});

test('a reservation for more slots than the group has users', () => {
  const reserve = (slots: number, group: string) => `reserve: [{ slots: ${slots}, for: ${group} }]`;
  const reason = 'one has only one user, and a user holds at most one slot of a license.';
  assert.deepEqual(warningsOf(reserve(2, 'one')), [
    `15:20 "reserve 2 for one" may keep slots for nobody: ${reason}`,
  ]);
  assert.deepEqual(warningsOf(reserve(1, 'one')), []);
  for (const group of ['guests', 'staff', 'farm']) assert.deepEqual(warningsOf(reserve(9, group)), []);
});

describe('a reservation for those who are kept out', () => {
  const MAY = (group: string) => `"reserve 1 for ${group}" may keep slots for nobody: `;
  const rules = (group: string, access: string) => `${access}, reserve: [{ slots: 1, for: ${group} }]`;
  test('by deny', () => {
    for (const group of ['team', 'staff']) {
      const [warning] = warningsOf(rules('team', `deny: { groups: [${group}] }`));
      assert.ok(warning?.endsWith(`${MAY('team')}"deny" refuses ${group}.`), String(warning));
    }
    assert.deepEqual(warningsOf(rules('staff', 'deny: { groups: [team] }')), []);
  });

  test('by allow, unless a member is in another group that is allowed', () => {
    assert.match(warningsOf(rules('guests', 'allow: [staff]')).join(), /"allow" does not name guests\./);
    for (const [group, allowed] of [
      ['team', 'staff'],
      ['staff', 'team'],
      ['one', 'guests'],
      ['guests', 'guests'],
    ] as const) {
      assert.deepEqual(warningsOf(rules(group, `allow: [${allowed}]`)), [], `${group} ${allowed}`);
    }
  });

  test('of a feature, by the product', () => {
    const feature = 'features: { render: { reserve: [{ slots: 1, for: guests }] } }';
    assert.match(warningsOf(`allow: [staff], ${feature}`).join(), /"allow" does not name guests\./);
  });
});

test('they are in the order of the text', () => {
  const rules =
    '{ allow: [staff],\n    reserve: [{ slots: 3, for: guests }],\n    limit: [{ slots: 2, for: guests }] }';
  const parsed = parseRules(`${GROUPS}  cad: ${rules}`);
  assert.ok(!('errors' in parsed));
  assert.deepEqual(
    parsed.warnings.map(({ line }) => line),
    [16, 17],
  );
});

test('an unknown product or feature', () => {
  const later = 'These rules apply as soon as there is one.';
  const noLicense = `15:3 The server has no license for "cam" yet. ${later}`;
  assert.deepEqual(warningsOf('', FACTS, 'cam'), [noLicense]);
  const noFeature = `15:22 No license for "cad" has slots of the feature "rendr". ${later}`;
  assert.deepEqual(warningsOf('features: { rendr: {} }', FACTS), [noFeature]);
  assert.deepEqual(warningsOf('features: { render: {} }', FACTS), []);
  assert.deepEqual(warningsOf('features: { rendr: {} }'), []);
});
