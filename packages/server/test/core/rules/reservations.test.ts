import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { refuseByReservation } from '../../../src/core/rules/judge-slot.ts';
import { countStillToCome } from '../../../src/core/rules/reservations.ts';
import { EMPTY_RULE_SET, MAX_RESERVATIONS } from '../../../src/core/rules/rule-set.ts';
import { reserve, slotRules } from '../../store/exam/rule-sets.ts';
import { NOW } from '../examples.ts';

interface Reserved {
  readonly slots: number;
  readonly for: string;
}

/** Sets of groups, and how many slots are held by those who are in exactly these. */
type Held = readonly (readonly [readonly string[], number])[];

/** By definition, the most value, over all sets of reservations of what they reserve minus what is held. */
function largestOverSets(reservations: readonly Reserved[], held: Held): number {
  let largest = 0;
  for (let set = 1; set < 2 ** reservations.length; set++) {
    const chosen = reservations.filter((_, index) => (set >> index) & 1);
    const reserved = chosen.reduce((sum, { slots }) => sum + slots, 0);
    const members = held.filter(([groups]) => chosen.some((one) => groups.includes(one.for)));
    largest = Math.max(largest, reserved - members.reduce((sum, [, slots]) => sum + slots, 0));
  }
  return largest;
}

function stillToCome(reservations: readonly Reserved[], held: Held): number {
  const byGroups = new Map<string, number>();
  for (const [groups, slots] of held) {
    const key = groups.toSorted().join(',');
    byGroups.set(key, (byGroups.get(key) ?? 0) + slots);
  }
  return countStillToCome(reservations, byGroups);
}

const GROUPS = ['a', 'b', 'c', 'd', 'e'];

const reservations = fc.array(fc.record({ slots: fc.nat({ max: 12 }), for: fc.constantFrom(...GROUPS) }), {
  maxLength: 7,
});
const held = fc.array(fc.tuple(fc.subarray([...GROUPS, 'none']), fc.nat({ max: 15 })), { maxLength: 9 });

describe('what is still to come', () => {
  test('is the largest value over all sets of reservations', () => {
    const property = fc.property(reservations, held, (all, who) => {
      assert.equal(stillToCome(all, who), largestOverSets(all, who));
    });
    fc.assert(property, { numRuns: 3000 });
  });

  test('falls by one at most with each slot, and never rises', () => {
    const property = fc.property(reservations, held, fc.subarray(GROUPS), (all, who, groups) => {
      const before = stillToCome(all, who);
      const after = stillToCome(all, [...who, [groups, 1]]);
      assert.ok(after === before || after === before - 1);
    });
    fc.assert(property, { numRuns: 500 });
  });

  test('one who is in two groups fills one reservation, whichever helps more', () => {
    const both = [
      { slots: 1, for: 'a' },
      { slots: 1, for: 'b' },
    ];
    assert.equal(stillToCome(both, [[['a', 'b'], 1]]), 1);
    assert.equal(
      stillToCome(both, [
        [['a', 'b'], 1],
        [['a'], 1],
      ]),
      0,
    );
    assert.equal(
      stillToCome(both, [
        [['a', 'b'], 1],
        [['b'], 1],
      ]),
      0,
    );
    assert.equal(stillToCome(both, [[['a'], 5]]), 1);
  });

  test('the most reservations that a product can have', () => {
    const names = Array.from({ length: MAX_RESERVATIONS }, (_, index) => `g${index}`);
    const all = names.map((name) => ({ slots: 10, for: name }));
    // Each is in a group and the next one, so that one slot makes all others move up.
    const chain: Held = names.map((name, index) => [[name, names[(index + 1) % names.length] as string], 10]);
    assert.equal(stillToCome(all, chain), 0);
    assert.equal(stillToCome(all, chain.slice(1)), 10);
    assert.equal(stillToCome(all, [...chain.slice(1), [['g0'], 3]]), 7);
  });
});

describe('who is refused', () => {
  const own = slotRules({ reserve: [reserve(2, 'a'), reserve(1, 'b')] });
  const refusalWith = (held: Readonly<Record<string, number>>, free: number) => {
    const holdings = { byGroups: new Map(Object.entries(held)), countAt: () => 0 };
    const stranger = { groups: '', host: null, address: null };
    const supply = { name: 'cad', slots: 3, free };
    return refuseByReservation(EMPTY_RULE_SET, own, supply, holdings, stranger, NOW)?.message;
  };

  test('is told of every reservation that is not filled, and of no other', () => {
    assert.equal(
      refusalWith({}, 3),
      '3 of 3 slots of "cad" are free, but reserved for a and b. ' +
        'Ask your administrator (rule: reserve 2 for a, reserve 1 for b).',
    );
    assert.equal(
      refusalWith({ a: 2 }, 1),
      '1 of 3 slots of "cad" is free, but reserved for b. ' +
        'Ask your administrator (rule: reserve 1 for b).',
    );
  });
});
