import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainDenial } from '../../../src/core/history/explain-denial.ts';
import { say } from '../../../src/core/nouns/instant.ts';
import { NOW } from '../examples.ts';

const FULL = {
  reason: 'floating_not_available',
  rule: '',
  product: 'cad',
  feature: null,
  slots: 3,
  inUse: 3,
  borrowed: 0,
  nextFreeAt: null,
} as const;

test('a denial is explained in a sentence', () => {
  const full = 'All 3 slots of "cad" were in use';
  for (const [facts, expected] of [
    [{}, `${full}.`],
    [{ slots: 1, inUse: 1, feature: 'mesh' }, 'The only slot of "mesh" of "cad" was in use.'],
    [{ borrowed: 1 }, `${full}: 2 by users, 1 borrowed.`],
    [{ borrowed: 3 }, `${full}: all borrowed.`],
    [{ borrowed: 1, inUse: null }, `${full}.`],
    [{ borrowed: null }, `${full}.`],
    [{ nextFreeAt: NOW }, `${full}. The next one was due to be free at ${say(NOW)}.`],
    [{ rule: 'limit 1 for ext' }, 'A rule for "cad" refused it: limit 1 for ext.'],
    [{ reason: 'of_another_version' as never }, 'It was refused: of_another_version.'],
  ] as const) {
    assert.equal(explainDenial({ ...FULL, ...facts }), expected);
  }
  assert.match(explainDenial({ ...FULL, slots: null }), /"cad"/);
});
