import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Denial, UserHistory } from '@berth/protocol/admin/history';
import {
  listDays,
  sayAfter,
  sayHolding,
  sayMembership,
  sayWaiting,
  USE_DAYS,
} from '../../src/words/person.ts';
import { HOUR_MS } from '../../src/words/time.ts';

const SUBJECT = { license_id: 1, product: 'cad', name: 'CAD Pro', feature: null };

function denial(time: string, more: Partial<Denial> = {}): Denial {
  const at = `2026-11-17T${time}:00.000Z`;
  const facts = {
    reason: 'floating_not_available',
    rule: null,
    user: 'fay',
    others: false,
    host: null,
    address: null,
  };
  return { ...SUBJECT, ...facts, first_at: at, last_at: at, count: 1, explanation: '', ...more };
}

function lent(time: string, licenseId: number) {
  return { seq: 1, at: `2026-11-17T${time}:00.000Z`, kind: 'slot_lent', license_id: licenseId, user: 'fay' };
}

describe('a person', () => {
  test('waits for one thing or several', () => {
    assert.equal(sayWaiting([]), '');
    assert.equal(sayWaiting(['CAD Pro']), ' Waits for a slot of CAD Pro.');
    assert.equal(sayWaiting(['CAD Pro', 'render']), ' Waits for a slot of CAD Pro and of render.');
  });

  test('is in a group by an entry of it', () => {
    assert.equal(sayMembership('users: cad-*'), 'by name cad-*');
    assert.equal(sayMembership('addresses: 2001:db8::/32'), 'by address 2001:db8::/32');
    assert.equal(sayMembership('groups: odd: name'), 'as a member of odd: name');
  });

  test('holds, and has borrowed', () => {
    assert.equal(sayHolding(0, 0), 'Holds no slot.');
    assert.equal(sayHolding(1, 0), 'Holds one slot.');
    assert.equal(sayHolding(0, 2), 'Has borrowed two slots.');
    assert.equal(sayHolding(2, 1), 'Holds two slots and has borrowed one more.');
  });

  test('got a slot after a denial, was refused again, or did not ask', () => {
    const first = denial('10:00');
    const second = denial('10:12');
    // Another license of the same product.
    const products = new Map([
      [1, 'cad'],
      [2, 'cad'],
      [3, 'cam'],
    ]);
    const later = { events: [lent('11:00', 3), lent('10:18', 2)], isComplete: true, products };
    const all = [second, first];
    assert.equal(sayAfter(first, all, later), 'Was refused again 12 min later.');
    assert.equal(sayAfter(second, all, later), 'Got a slot 6 min later.');
    const nothing = { ...later, events: [] };
    assert.equal(sayAfter(second, all, nothing), 'Did not ask again.');
    assert.equal(sayAfter(second, all, { ...nothing, isComplete: false }), null, 'not known');
    const feature = denial('10:12', { feature: 'render' });
    assert.equal(sayAfter(feature, all, later), 'Did not ask again.', 'a slot of the license is no feature');
  });

  test('used slots on some of the last days; features are not counted twice', () => {
    const facts = { ...SUBJECT, user: 'fay', others: false, grants: 1, sessions: 1, denials: 1 };
    const row = { ...facts, day: '2026-11-16', held_ms: HOUR_MS, last_at: '' } satisfies UserHistory;
    const days = listDays([row, { ...row, feature: 'render' }], Date.parse('2026-11-17T01:00:00Z'));
    assert.equal(days.length, USE_DAYS);
    assert.deepEqual(
      days.slice(-2).map(({ heldMs, denials }) => [heldMs, denials]),
      [
        [HOUR_MS, 2],
        [0, 0],
      ],
    );
  });
});
