import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { describeRules } from '../../../src/core/rules/describe-rules.ts';
import { NO_NAMES, type ProductRules, type SlotRules } from '../../../src/core/rules/rule-set.ts';
import { NOW, ruling } from '../examples.ts';

const ALWAYS = { during: null };
const SLOT_RULES: SlotRules = { allow: null, deny: NO_NAMES, reserve: [], limit: [] };
type Held = Readonly<Record<string, number>>;

/** Held slots on licenses of four slots each. */
function describeCad(own: Partial<ProductRules>, licenses: readonly Held[] = []) {
  const lent = licenses.map((held) => ({ slots: 4, held: new Map(Object.entries(held)) }));
  return describeRules(ruling(own), () => lent, NOW);
}

describe('the rules in force', () => {
  test('are in the order of the text, with whom they are about', () => {
    const deny = { ...NO_NAMES, users: ['ada'], hosts: ['h'], addresses: ['10.0.0.0/8'], groups: ['ext'] };
    const described = describeCad({
      allow: ['team'],
      deny,
      lines: { allow: 4, deny: 2 },
      limit: [
        { ...ALWAYS, line: 3, slots: 2, of: { group: 'team' } },
        { ...ALWAYS, line: 5, slots: 1, of: { each: 'host' } },
      ],
      priority: [{ ...ALWAYS, line: 1, for: 'team', level: 7 }],
    });
    const shown = described.map(({ line, kind, text, groups, slots }) => [line, kind, text, groups, slots]);
    assert.deepEqual(shown, [
      [1, 'priority', 'priority 7 for team', ['team'], null],
      [2, 'deny', 'deny ext, ada, h, 10.0.0.0/8', ['ext', 'ada', 'h', '10.0.0.0/8'], null],
      [3, 'limit', 'limit 2 for team', ['team'], 2],
      [4, 'allow', 'allow team', ['team'], null],
      [5, 'limit', 'limit 1 for each host', [], 1],
    ]);
    assert.ok(described.every(({ product, isActive, during }) => product === 'cad' && isActive && !during));
  });

  test('name eight of many names', () => {
    const allow = Array.from({ length: 10 }, (_, n) => `g${n}`);
    const [rule] = describeCad({ allow });
    assert.equal(rule?.text, 'allow g0, g1, g2, g3, g4, g5, g6, g7 and 2 more');
    assert.deepEqual(rule?.groups, allow.slice(0, 8));
    assert.equal(describeCad({ allow: allow.slice(0, 8) })[0]?.text.includes('more'), false);
  });

  test('say what borrowers may do', () => {
    const borrow = { line: 1, during: 'never', allow: null, hours: null, keep: 0, perAddress: null };
    const shown = [borrow, { ...borrow, ...ALWAYS, allow: ['a', 'b'], hours: 8, keep: 2, perAddress: 3 }].map(
      (rules) => describeCad({ borrow: rules })[0],
    );
    assert.deepEqual(
      shown.map((rule) => [rule?.text, rule?.isActive, rule?.groups, rule?.slots]),
      [
        ['borrow: ', false, [], 0],
        ['borrow: allow a, b, at most 8 hours, keep 2, 3 per address', true, ['a', 'b'], 2],
      ],
    );
  });

  test('count what groups hold, and what is kept free for them', () => {
    const reserve = [
      { ...ALWAYS, line: 1, slots: 3, for: 'a' },
      { line: 2, during: 'never', slots: 3, for: 'b' },
      { ...ALWAYS, line: 3, slots: 9, for: 'c' },
    ];
    const limit = [{ ...ALWAYS, line: 4, slots: 2, of: { group: 'b' } }];
    const held = [
      { a: 1, b: 2 },
      { 'b,c': 1, '': 1 },
    ];
    const counts = (own: Partial<ProductRules>) =>
      describeCad(own, held).map(({ inUse, stillToCome }) => [inUse, stillToCome]);
    const ofCad = [
      [1, 2],
      [3, 0],
      [1, 3],
      [3, null],
    ];
    assert.deepEqual(counts({ reserve, limit }), ofCad);
    const render = { ...SLOT_RULES, reserve, limit };
    assert.deepEqual(counts({ features: { render } }), [
      [1, 3],
      [3, 0],
      [1, 3],
      [3, null],
    ]);
  });
});
