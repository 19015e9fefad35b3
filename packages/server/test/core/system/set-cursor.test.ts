import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setCursor } from '../../../src/core/system/audit.ts';

const position = { seq: 7, index: 1 };
const command = { kind: 'set_cursor', follower: 'syslog', position } as const;

test('the cursor of a follower is stored without an event', () => {
  assert.deepEqual(setCursor.needs(command), { cursor: 'syslog' });
  const { changes, events } = setCursor.decide(command, { cursor: null });
  assert.deepEqual(changes, [{ kind: 'set_cursor', follower: 'syslog', position, memory: null }]);
  assert.deepEqual(events, []);
});

test('it never goes back, and starts once', () => {
  for (const cursor of [position, { seq: 8, index: 0 }]) {
    assert.deepEqual(setCursor.decide(command, { cursor }).changes, []);
  }
  const first = { ...command, isFirst: true };
  assert.deepEqual(setCursor.decide(first, { cursor: { seq: 1, index: 0 } }).changes, []);
});

test('what its follower remembers may change where it is', () => {
  const remember = { ...command, memory: '{}' };
  assert.deepEqual(setCursor.decide(remember, { cursor: position }).changes, [remember]);
  assert.deepEqual(setCursor.decide(remember, { cursor: { seq: 8, index: 0 } }).changes, []);
  assert.deepEqual(setCursor.decide(remember, { cursor: null }).changes, [], 'its channel was removed');
});
