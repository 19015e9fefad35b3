import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readWholeNumber } from './whole-number.ts';

test('a flag with a whole number takes nothing else', () => {
  assert.equal(readWholeNumber('--seed', '0'), 0);
  assert.equal(readWholeNumber('--count', '20000', 1), 20_000);
  for (const text of ['abc', '', '-5', '1.5', '1e3', ' 7', '0', '9'.repeat(20)]) {
    assert.throws(() => readWholeNumber('--count', text, 1), /--count takes a whole number from 1\./);
  }
});
