import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setWebhookCursor } from '../../../src/core/system/audit.ts';

const position = { seq: 7, index: 1 };
const command = { kind: 'set_webhook_cursor', position } as const;

test('the cursor of the webhook is stored without an event', () => {
  const { changes, events } = setWebhookCursor.decide(command, { webhookCursor: null });
  assert.deepEqual(changes, [{ kind: 'set_webhook_cursor', position }]);
  assert.deepEqual(events, []);
});

test('it never goes back, and starts once', () => {
  for (const webhookCursor of [position, { seq: 8, index: 0 }]) {
    assert.deepEqual(setWebhookCursor.decide(command, { webhookCursor }).changes, []);
  }
  const first = { ...command, isFirst: true };
  assert.deepEqual(setWebhookCursor.decide(first, { webhookCursor: { seq: 1, index: 0 } }).changes, []);
});
