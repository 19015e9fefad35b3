import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backOffMs } from '../../src/core/back-off.ts';

test('the time to wait doubles up to a limit, and chance takes off up to half', () => {
  const limits = { firstMs: 100, longestMs: 1000 };
  const waits = [1, 2, 3, 4, 5, 1e6].map((failures) => backOffMs(failures, limits, 1));
  assert.deepEqual(waits, [100, 200, 400, 800, 1000, 1000]);
  assert.deepEqual([backOffMs(2, limits, 0), backOffMs(2, limits, 0.5)], [100, 150]);
  assert.equal(backOffMs(1e6, { firstMs: 1, longestMs: Infinity }, 1), 2 ** 30);
});
