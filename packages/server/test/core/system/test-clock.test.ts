import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR_MS } from '../../../src/core/nouns/instant.ts';
import { advanceTestClock } from '../../../src/core/system/test-clock.ts';
import { exampleLicense, expectRefused, NOW } from '../examples.ts';

test('the time of real licenses is not moved, and the refusal names one', () => {
  const command = { kind: 'advance_test_clock', millis: HOUR_MS } as const;
  const licenses = [exampleLicense({ source: 'cloud' })];
  for (const testClockMs of [null, 0]) {
    const { outcome } = advanceTestClock.decide(command, { licenses, testClockMs }, NOW);
    assert.match(expectRefused(outcome).message, /real license of "cad"/);
  }
});
