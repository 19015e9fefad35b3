import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WEBHOOK_TOPICS } from '../../../src/core/nouns/webhook-topics.ts';

test('every topic of webhooks has the event that it is called after', () => {
  for (const [topic, kinds] of Object.entries(WEBHOOK_TOPICS)) {
    assert.ok((kinds as readonly string[]).includes(topic), topic);
  }
});
