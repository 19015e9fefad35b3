import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram } from '../../../src/core/nouns/histogram.ts';

test('a histogram counts what is at most each bound, and all', () => {
  const histogram = new Histogram([1, 5]);
  assert.deepEqual([histogram.cumulate(), histogram.sum], [[0, 0, 0], 0]);
  for (const value of [0, 1, 2, 5, 6, 60]) histogram.note(value);
  assert.deepEqual([histogram.cumulate(), histogram.sum], [[2, 4, 6], 74]);
});
