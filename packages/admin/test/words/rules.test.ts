import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { License } from '@berth/protocol/admin/licenses';
import {
  countUnruled,
  findUnused,
  giveUpSlot,
  listReserved,
  listRuled,
  mapReserved,
  type Rule,
  sayRecord,
  sayReserved,
  sayRule,
} from '../../src/words/rules.ts';
import { splitSlots } from '../../src/words/slot-runs.ts';

function rule(facts: Partial<Rule>): Rule {
  return {
    product: 'cad',
    feature: null,
    kind: 'reserve',
    line: 1,
    text: 'reserve 4 for cad-team',
    during: null,
    is_active: true,
    groups: ['cad-team'],
    slots: 4,
    in_use: 3,
    still_to_come: 1,
    refused: 0,
    unused_share: null,
    ...facts,
  };
}

function license(id: number, product: string, used: number, state = 'active'): License {
  const facts = { id, product, state, floating_users: 24, floating_in_use: used, borrowed: 2 };
  return facts as unknown as License;
}

/** Names are in angle brackets. */
function say(facts: Partial<Rule>, slots = 24): string {
  return sayRule(rule(facts), slots)
    .map(({ text, isName }) => (isName ? `<${text}>` : text))
    .join('');
}

describe('a rule as a sentence', () => {
  test('says what is reserved and what of it is in use', () => {
    assert.equal(say({}), '4 of 24 slots are reserved for <cad-team>; 3 in use, 1 still to come.');
    assert.equal(say({ still_to_come: 0 }), '4 of 24 slots are reserved for <cad-team>; all in use.');
    const later = { during: 'office', is_active: false };
    assert.equal(
      say(later),
      '4 of 24 slots are reserved for <cad-team> during office. It does not apply now.',
    );
    const feature = { feature: 'render', slots: 1, still_to_come: 1 };
    assert.equal(say(feature), 'render: 1 slot is reserved for <cad-team>; 0 in use, 1 still to come.');
  });

  test('says how many may be held, and when that is reached', () => {
    const limit = { kind: 'limit' as const, groups: ['contractors'], slots: 2, still_to_come: null };
    assert.equal(say({ ...limit, in_use: 2 }), '<contractors> hold 2, as many as they may.');
    assert.equal(say({ ...limit, in_use: 1 }), '<contractors> may hold 2 slots together; 1 in use.');
    const each = { ...limit, groups: [], in_use: null, text: 'limit 1 for each address', slots: 1 };
    assert.equal(say(each), 'One slot for each address.');
  });

  test('names all groups, and falls back to the words of the server', () => {
    const groups = ['a', 'b', 'c'];
    assert.equal(say({ kind: 'allow', groups }), 'Only <a>, <b> and <c> get a slot.');
    assert.equal(say({ kind: 'deny', groups: ['a'] }), '<a> are refused.');
    const many = { kind: 'deny' as const, groups, text: 'deny a, b, c and 9 more' };
    assert.equal(say(many), 'Deny a, b, c and 9 more.');
    assert.equal(say({ kind: 'borrow', text: 'borrow at most 72 hours' }), 'Borrow at most 72 hours.');
  });
});

describe('rules by product', () => {
  test('say what they did in the last 30 days', () => {
    assert.equal(sayRecord(rule({})), '');
    assert.equal(
      sayRecord(rule({ refused: 1, unused_share: 0.314 })),
      'refused 1 request in 30 days, kept free 31 % of 30 days',
    );
    const [some, most] = [0.3, 0.5].map((share, line) => rule({ line, unused_share: share }));
    assert.equal(findUnused([some as Rule, most as Rule, rule({ unused_share: 0.1 })], 'cad'), most);
    assert.equal(findUnused([rule({ unused_share: 0.9, slots: 1 })], 'cad'), null, 'its last slot stays');
    assert.equal(findUnused([rule({ unused_share: 0.9, product: 'other' })], 'cad'), null);
  });

  test('those that refuse now come first, then those that did, then the order of the text', () => {
    const calm = rule({ product: 'calm', still_to_come: 0 });
    const past = rule({ product: 'past', refused: 3 });
    const limited = rule({ product: 'limited', kind: 'limit', slots: 2, in_use: 2, still_to_come: null });
    const kept = rule({ product: 'kept', still_to_come: 2 });
    const licenses = ['calm', 'past', 'limited'].map((product, id) => license(id, product, 5));
    const all = [...licenses, license(9, 'kept', 22), license(10, 'free', 0)];
    const products = listRuled([calm, past, limited, kept], all);
    assert.deepEqual(
      products.map(({ product }) => product),
      ['limited', 'kept', 'past', 'calm'],
    );
    assert.equal(countUnruled([calm, past, limited, kept], all), 1);
  });

  test('count the slots of all licenses that can be used', () => {
    const licenses = [license(1, 'cad', 5), license(2, 'cad', 6), license(3, 'cad', 7, 'expired')];
    const [found] = listRuled([rule({})], licenses);
    assert.deepEqual([found?.slots, found?.inUse, found?.borrowed], [48, 11, 4]);
  });

  test('a license shows what is reserved only if it does not share it', () => {
    const rules = [rule({}), rule({ is_active: false }), rule({ feature: 'render' })];
    assert.deepEqual(
      mapReserved(rules, [license(1, 'cad', 5)])
        .get(1)
        ?.map(sayReserved),
      ['4 reserved for cad-team, 3 in use'],
    );
    assert.equal(mapReserved(rules, [license(1, 'cad', 5), license(2, 'cad', 5)]).size, 0);
    assert.deepEqual(listReserved(rules, 'cad', 'render').length, 1);
  });

  test('a line can give up a slot, but not its last', () => {
    const text = 'reserve:\n  - { slots: 4, for: cad-team }\n  - { slots: 1, for: x }\n';
    assert.deepEqual(giveUpSlot(text, 2), { text: text.replace('4', '3'), slots: 3 });
    for (const line of [1, 3, 9]) assert.equal(giveUpSlot(text, line), null);
  });
});

describe('the runs of a slot bar', () => {
  const reserved = (slots: number, stillToCome: number) => ({ group: 'x', slots, stillToCome });
  const split = (slots: number, inUse: number, borrowed: number, ...list: ReturnType<typeof reserved>[]) =>
    splitSlots({ slots, inUse, borrowed }, list).map(({ held, lent, toCome, free }) =>
      [held, lent, toCome, free].join(' '),
    );

  test('are what everybody holds, what is reserved, and what is free', () => {
    assert.deepEqual(split(24, 20, 5), ['15 5 0 4']);
    assert.deepEqual(split(24, 20, 5, reserved(4, 1)), ['12 5 0 0', '3 0 1 0', '0 0 0 3']);
    assert.deepEqual(split(24, 4, 4, reserved(4, 1)), ['0 1 0 0', '0 3 1 0', '0 0 0 19']);
  });

  test('are all slots together, also if more is reserved than there is', () => {
    for (const list of [[reserved(4, 4)], [reserved(9, 9), reserved(9, 2)], [reserved(3, 0)]]) {
      for (const inUse of [0, 3, 10]) {
        const runs = splitSlots({ slots: 10, inUse, borrowed: 1 }, list);
        const sum = runs.reduce(
          (total, { held, lent, toCome, free }) => total + held + lent + toCome + free,
          0,
        );
        assert.equal(sum, 10);
      }
    }
  });
});
