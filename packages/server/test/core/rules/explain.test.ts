import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { refuse } from '../../../src/core/outcome.ts';
import { explainGroups, explainRefusal, NO_RULE } from '../../../src/core/rules/explain.ts';
import { EMPTY_RULE_SET, type Group, NO_NAMES, type RuleSet } from '../../../src/core/rules/rule-set.ts';

const group = (facts: Partial<Group>): Group => ({ ...NO_NAMES, ...facts });

const ALWAYS = { during: null };
const RULES: RuleSet = {
  ...EMPTY_RULE_SET,
  groups: {
    engineers: group({ groups: ['cad'], users: ['bob'] }),
    cad: group({ users: ['ada', 'cad-*'], hosts: ['ws-1*'], addresses: ['10.20.0.0/16'] }),
    all: group({ groups: ['engineers'] }),
  },
  products: {
    pro: {
      allow: null,
      deny: { ...NO_NAMES, users: ['mallory'] },
      reserve: [
        { slots: 4, for: 'cad', line: 11, ...ALWAYS },
        { slots: 40, for: 'cad', line: 12, ...ALWAYS },
      ],
      limit: [{ slots: 2, of: { group: 'all' }, line: 14, ...ALWAYS }],
      borrow: null,
      priority: [],
      features: {},
      lines: { deny: 9 },
    },
  },
};

const NOBODY = { user: 'x', hostname: null, address: null };

describe('the groups of a person', () => {
  const groupsOf = (facts: Partial<typeof NOBODY> | object) =>
    explainGroups(RULES, { ...NOBODY, ...facts }).map(({ group: name, by }) => `${name} by ${by}`);

  test('are named with the entry that matches, and with the group in between', () => {
    assert.deepEqual(groupsOf({ user: 'CAD-7' }), [
      'cad by users: cad-*',
      'engineers by groups: cad',
      'all by groups: engineers',
    ]);
    assert.equal(groupsOf({ hostname: 'ws-12' })[0], 'cad by hosts: ws-1*');
    assert.equal(groupsOf({ address: '10.20.3.4' })[0], 'cad by addresses: 10.20.0.0/16');
    assert.deepEqual(groupsOf({}), []);
  });

  test('are named by an own entry first', () => {
    assert.deepEqual(groupsOf({ user: 'bob', hostname: 'ws-1' }), [
      'engineers by users: bob',
      'cad by hosts: ws-1*',
      'all by groups: engineers',
    ]);
  });
});

describe('the rule that refuses', () => {
  const explain = (user: string, code: 'blacklisted' | 'floating_not_available', details = {}) =>
    explainRefusal(
      RULES,
      { ...NOBODY, user, claimedAddress: null },
      { product: 'pro', feature: null },
      refuse(code, '', details),
    );

  test('is found with its line', () => {
    const full = 'floating_not_available';
    assert.deepEqual(explain('mallory', 'blacklisted'), { kind: 'deny', rule: 'deny by user', line: 9 });
    assert.deepEqual(explain('ada', full, { rule: 'limit 2 for all' }), {
      kind: 'limit',
      rule: 'limit 2 for all',
      line: 14,
    });
    assert.equal(explain('x', full, { rule: 'reserve 40 for cad' }).line, 12);
    assert.equal(explain('x', full, { rule: 'reserve 4 for cad, reserve 40 for cad' }).line, 11);
  });

  test('is none if all slots are in use', () => {
    assert.deepEqual(explain('ada', 'floating_not_available'), NO_RULE);
  });
});
