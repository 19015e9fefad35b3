import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chooseDelayMs } from './cloud-loops.ts';

const HOUR_MS = 60 * 60 * 1000;

describe('when the licensing cloud is asked next', () => {
  test('about once an interval, but not at the same moment as other servers', () => {
    assert.equal(chooseDelayMs(HOUR_MS, 0, 0), 0.9 * HOUR_MS);
    assert.equal(chooseDelayMs(HOUR_MS, 0, 0.5), HOUR_MS);
    assert.ok(Math.abs(chooseDelayMs(HOUR_MS, 0, 1) - 1.1 * HOUR_MS) < 1);
  });

  test('after failures twice as late each time, up to a quarter of an hour', () => {
    const delays = [1, 2, 3, 4].map((failures) => chooseDelayMs(HOUR_MS, failures, 1));
    assert.deepEqual(delays, [5000, 10_000, 20_000, 40_000]);
    assert.equal(chooseDelayMs(HOUR_MS, 1000, 1), 15 * 60 * 1000);
    assert.equal(chooseDelayMs(HOUR_MS, 1000, 0), 7.5 * 60 * 1000);
  });
});
