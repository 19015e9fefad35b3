import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseRules } from '../../../src/services/rules/parse-rules.ts';

/** ada is in team and staff, bob in staff, eve in guests, kim in team and guests, zoe in none. */
const GROUPS = `
groups:
  team:   { users: [ada, kim], hosts: ["ws-*"], addresses: [10.1.0.0/16] }
  staff:  { groups: [team], users: [bob] }
  guests: { users: [eve, kim] }
times:
  office: { days: mon-fri, from: "08:00", to: "18:00", zone: Europe/Berlin }
  night:  { days: mon-fri, from: "22:00", to: "06:00", zone: Europe/Berlin }
`;

type Row = readonly [title: string, rules: string, ...expectations: string[]];

/** Each expectation is written as in the text of the rules, without the product. */
const KINDS: readonly Row[] = [
  [
    'deny: by user, host, address and group',
    'deny: { users: [zoe], hosts: ["lab-*"], addresses: [10.9.0.0/16], groups: [guests] }',
    'user: ZOE, answer: refused, rule: deny by user',
    'user: bob, host: lab-7, answer: refused, rule: deny by host',
    'user: bob, address: 10.9.1.1, answer: refused, rule: deny by address',
    'user: eve, answer: refused, rule: deny guests',
    'user: bob, answer: served',
  ],
  [
    'allow: members of one of the groups, also through another group',
    'allow: [staff]',
    'user: bob, answer: served',
    'user: ada, answer: served',
    'user: zoe, host: ws-1, answer: served',
    'user: zoe, address: 10.1.2.3, answer: served',
    'user: zoe, answer: refused, rule: allow staff',
  ],
  ['allow: nobody', 'allow: []', 'user: ada, answer: refused, rule: allow nobody'],
  [
    'limit: a group together, with those in the groups that it contains',
    'limit: [{ slots: 2, for: staff }]',
    'user: bob, held: { team: 1 }, answer: served',
    'user: bob, held: { team: 1, staff: 1 }, answer: refused, rule: limit 2 for staff',
    'user: ada, held: { staff: 2 }, answer: refused, rule: limit',
    'user: eve, held: { staff: 2 }, answer: served',
    'user: bob, held: { guests: 9 }, answer: served',
  ],
  [
    'limit: each host',
    'limit: [{ slots: 1, each: host }]',
    'user: zoe, host: ws-1, answer: served',
    'user: zoe, host: ws-1, heldByHost: 1, answer: refused, rule: limit 1 for each host',
    'user: zoe, answer: served',
  ],
  [
    'limit: without a host name, the address is the host',
    'limit: [{ slots: 1, each: host }]',
    'user: zoe, address: 10.2.0.1, heldByHost: 1, answer: refused, rule: limit',
  ],
  [
    'limit: each address',
    'limit: [{ slots: 2, each: address }]',
    'user: zoe, address: 10.2.0.1, heldByAddress: 1, answer: served',
    'user: zoe, address: 10.2.0.1, heldByAddress: 2, answer: refused, rule: limit 2 for each address',
  ],
  [
    'limit: none at all',
    'limit: [{ slots: 0, for: guests }]',
    'user: eve, answer: refused, rule: limit 0 for guests',
    'user: ada, answer: served',
  ],
  [
    'reserve: for a group, until it holds as many',
    'reserve: [{ slots: 2, for: team }]',
    'user: zoe, free: 3, answer: served',
    'user: zoe, free: 2, answer: refused, rule: reserve 2 for team',
    'user: ada, free: 2, answer: served',
    'user: ada, free: 1, answer: served',
    'user: zoe, free: 2, held: { team: 1 }, answer: served',
    'user: zoe, free: 1, held: { team: 1 }, answer: refused, rule: reserve',
    'user: zoe, free: 1, held: { team: 2 }, answer: served',
    'user: ada, free: 0, answer: refused',
  ],
  [
    'a feature: its own limits and reservations, and the access rules of both',
    'allow: [staff], limit: [{ slots: 0, for: team }], ' +
      'features: { render: { deny: { users: [bob] }, reserve: [{ slots: 1, for: team }] } }',
    'user: ada, feature: render, free: 1, answer: served',
    'user: bob, feature: render, answer: refused, rule: deny by user',
    'user: eve, feature: render, answer: refused, rule: allow',
    'user: bob, answer: served',
    'user: ada, answer: refused, rule: limit',
    'user: ada, feature: other, answer: served',
  ],
  [
    'during: a rule outside its time is not there; without a time, all are',
    'limit: [{ slots: 0, for: guests, during: office }]',
    'user: eve, at: "2026-03-02T08:00+01:00", answer: refused, rule: limit 0 for guests during office',
    'user: eve, at: "2026-03-02T07:59:59+01:00", answer: served',
    'user: eve, at: "2026-03-02T18:00+01:00", answer: served',
    'user: eve, at: "2026-03-01T12:00+01:00", answer: served',
    'user: eve, answer: refused',
  ],
  [
    'during: clocks that change move with the zone',
    'limit: [{ slots: 0, for: guests, during: office }]',
    'user: eve, at: "2026-03-27T07:30Z", answer: refused',
    'user: eve, at: "2026-03-27T06:30Z", answer: served',
    'user: eve, at: "2026-03-30T06:30Z", answer: refused',
    'user: eve, at: "2026-10-23T06:30Z", answer: refused',
    'user: eve, at: "2026-10-26T06:30Z", answer: served',
  ],
  [
    'during: over midnight, of the day on which it begins',
    'limit: [{ slots: 0, for: guests, during: night }]',
    'user: eve, at: "2026-03-07T05:59+01:00", answer: refused',
    'user: eve, at: "2026-03-07T06:00+01:00", answer: served',
    'user: eve, at: "2026-03-02T05:00+01:00", answer: served',
    'user: eve, at: "2026-03-08T23:00+01:00", answer: served',
  ],
];

const PAIRS: readonly Row[] = [
  [
    'deny and allow: deny wins',
    'deny: { groups: [guests] }, allow: [guests, staff]',
    'user: kim, answer: refused, rule: deny guests',
    'user: bob, answer: served',
    'user: zoe, answer: refused, rule: allow guests',
  ],
  [
    'deny and limit: deny is named first',
    'deny: { users: [eve] }, limit: [{ slots: 0, for: guests }]',
    'user: eve, answer: refused, rule: deny',
    'user: kim, answer: refused, rule: limit',
  ],
  [
    'deny and reserve: who is denied gets no reserved slot',
    'deny: { users: [kim] }, reserve: [{ slots: 1, for: team }]',
    'user: kim, free: 1, answer: refused, rule: deny',
    'user: ada, free: 1, answer: served',
    'user: bob, free: 1, answer: refused, rule: reserve',
  ],
  [
    'allow and limit: allow is named first',
    'allow: [staff], limit: [{ slots: 0, for: guests }]',
    'user: eve, answer: refused, rule: allow',
    'user: kim, answer: refused, rule: limit',
    'user: bob, answer: served',
  ],
  [
    'allow and reserve: who is not allowed gets no reserved slot',
    'allow: [team], reserve: [{ slots: 1, for: guests }]',
    'user: eve, free: 1, answer: refused, rule: allow',
    'user: kim, free: 1, answer: served',
    'user: ada, free: 1, answer: refused, rule: reserve',
  ],
  [
    'limit and reserve: the limit holds for reserved slots as well, and is named first',
    'limit: [{ slots: 1, for: team }], reserve: [{ slots: 2, for: team }]',
    'user: ada, free: 2, answer: served',
    'user: ada, free: 2, held: { team: 1 }, answer: refused, rule: limit',
    'user: zoe, free: 1, held: { team: 1 }, answer: refused, rule: reserve',
  ],
  [
    'limit and full: the limit is named first',
    'limit: [{ slots: 0, for: guests }]',
    'user: eve, free: 0, answer: refused, rule: limit',
  ],
  [
    'two limits: the first that refuses is named',
    'limit: [{ slots: 2, for: staff }, { slots: 1, for: team }, { slots: 1, each: host }]',
    'user: ada, held: { team: 1 }, answer: refused, rule: limit 1 for team',
    'user: ada, held: { team: 2 }, answer: refused, rule: limit 2 for staff',
    'user: bob, held: { team: 1 }, heldByHost: 1, host: x, answer: refused, rule: limit 1 for each host',
    'user: bob, held: { team: 1 }, host: x, answer: served',
  ],
  [
    'two reservations: they add up, also when one group contains the other',
    'reserve: [{ slots: 1, for: team }, { slots: 2, for: staff }]',
    'user: zoe, free: 3, answer: refused, rule: reserve',
    'user: zoe, free: 4, answer: served',
    'user: bob, free: 3, answer: served',
    'user: bob, free: 1, held: { staff: 2 }, answer: refused, rule: reserve 1 for team',
    'user: ada, free: 1, held: { staff: 2 }, answer: served',
    'user: zoe, free: 1, held: { team: 3 }, answer: served',
  ],
  [
    'two reservations: a slot of somebody in both groups fills one of them',
    'reserve: [{ slots: 1, for: team }, { slots: 1, for: guests }]',
    'user: zoe, free: 1, held: { team: 1 }, answer: refused, rule: reserve 1 for guests',
    'user: ada, free: 1, held: { team: 1 }, answer: refused',
    'user: eve, free: 1, held: { team: 1 }, answer: served',
    'user: kim, free: 1, held: { team: 1 }, answer: served',
    'user: kim, free: 1, held: { guests: 1 }, answer: served',
  ],
  [
    'two reservations: two lines for one group add up',
    'reserve: [{ slots: 1, for: team }, { slots: 1, for: team }]',
    'user: zoe, free: 2, answer: refused',
    'user: zoe, free: 2, held: { team: 1 }, answer: served',
  ],
  [
    'reservations of two times: only that of now counts',
    'reserve: [{ slots: 2, for: team, during: office }, { slots: 1, for: guests, during: night }]',
    'user: zoe, free: 2, at: "2026-03-02T11:00Z", answer: refused, rule: reserve 2 for team during office',
    'user: zoe, free: 2, at: "2026-03-02T23:00+01:00", answer: served',
    'user: zoe, free: 1, at: "2026-03-02T22:00Z", answer: refused, rule: reserve 1 for guests during night',
    'user: zoe, free: 1, at: "2026-03-02T20:00+01:00", answer: served',
  ],
];

function exercise(rows: readonly Row[]): void {
  for (const [title, rules, ...expectations] of rows) {
    test(title, () => {
      const lines = expectations.map((one) => `  - { product: cad, ${one} }`);
      const parsed = parseRules(`${GROUPS}products:\n  cad: { ${rules} }\nexpect:\n${lines.join('\n')}`);
      assert.ok(!('errors' in parsed), JSON.stringify(parsed));
      assert.equal(parsed.expectations.length, expectations.length);
      for (const [index, { ok, message }] of parsed.expectations.entries()) {
        assert.ok(ok, `${expectations[index]}: ${message}`);
      }
    });
  }
}

describe('each kind of rule', () => exercise(KINDS));
describe('two kinds of rules', () => exercise(PAIRS));

test('deny at the top holds for every product, also for those without rules', () => {
  const expect = (product: string) => `  - { user: eve, product: ${product}, answer: refused, rule: deny }`;
  const parsed = parseRules(
    `${GROUPS}deny: { groups: [guests] }\nexpect:\n${expect('cad')}\n${expect('constructor')}`,
  );
  assert.ok(!('errors' in parsed));
  assert.deepEqual(
    parsed.expectations.map(({ ok }) => ok),
    [true, true],
  );
});
