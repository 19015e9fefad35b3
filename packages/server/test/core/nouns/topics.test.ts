import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TOPICS } from '../../../src/core/nouns/topics.ts';

test('every topic has the event that it is called after', () => {
  for (const [topic, kinds] of Object.entries(TOPICS)) {
    assert.ok((kinds as readonly string[]).includes(topic), topic);
  }
});
