import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EVENT_KINDS as ALL_KINDS } from '../../../server/src/core/nouns/event-kinds.ts';
import { describeEvent, EVENT_KINDS } from '../../src/words/describe-event.ts';

const at = { seq: 1, at: '2026-11-17T10:12:00.000Z', license_id: 1 };

describe('what happened', () => {
  test('has a sentence for every kind of event', () => {
    assert.deepEqual([...EVENT_KINDS].sort(), [...ALL_KINDS].sort());
  });

  test('names the products that an operator is limited to', () => {
    const changed = { ...at, kind: 'role_changed', account: 'olga', before: 'viewer', role: 'operator' };
    assert.equal(describeEvent(changed), 'olga became operator, from viewer');
    const limited = describeEvent({ ...changed, products: ['cad', 'cam'] });
    assert.equal(limited, 'olga became operator of cad, cam, from viewer');
  });

  test('names the rule that refused, and else the reason', () => {
    const denied = { ...at, kind: 'slot_denied', user: 'fay', code: 'floating_not_available' };
    assert.equal(describeEvent(denied), 'fay was refused a slot: all slots are in use');
    assert.equal(
      describeEvent({ ...denied, feature: 'render', rule: 'reserve 4 for cad-team' }),
      'fay was refused a slot of render: reserve 4 for cad-team',
    );
    assert.equal(
      describeEvent({ ...denied, code: 'blacklisted', barred: 'user' }),
      'fay was refused a slot: the user is barred',
    );
  });

  test('tells an administrator who releases a slot from a user who returns it', () => {
    const event = { ...at, kind: 'slot_returned', user: 'fay' };
    assert.equal(describeEvent({ ...event, by: null }), 'fay returned a slot');
    assert.equal(describeEvent({ ...event, by: 'client', origin: '10.0.0.1' }), 'fay returned a slot');
    assert.equal(describeEvent({ ...event, by: 'admin' }), 'admin released fay’s slot');
    const shared = { ...event, by: 'admin', programs: 3 };
    assert.equal(describeEvent(shared), 'admin released fay’s slot; 3 programs used it');
    assert.equal(
      describeEvent({ ...event, kind: 'slot_recalled', by: 'olga' }),
      'olga recalled fay’s borrowed slot',
    );
  });
});
