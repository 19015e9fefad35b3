import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare, quantile } from './two-samples.ts';

/** Numbers that look random and are the same in every run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test('a quantile lies between its neighbours', () => {
  assert.equal(quantile([4, 1, 3, 2], 0.5), 2.5);
  assert.equal(quantile([5, 1, 3], 0.5), 3);
  assert.equal(quantile([1, 2, 3, 4, 5], 0.25), 2);
});

test('ranks match those of the textbook', () => {
  // U = 3 of 25 pairs by counting them; without ties the normal distribution gives z = 1.984.
  const first = [19, 22, 16, 29, 24];
  const second = [20, 11, 17, 12, 9];
  const { auc, rankP, difference } = compare({ first, second }, createRandom(1));
  assert.equal(auc, 3 / 25);
  assert.ok(Math.abs(rankP - 0.0472) < 0.0005, String(rankP));
  assert.equal(difference, 12 - 22);
});

test('equal values count half', () => {
  const { auc, rankP } = compare({ first: [1, 1, 1], second: [1, 1, 1] }, createRandom(1));
  assert.equal(auc, 0.5);
  assert.ok(Math.abs(rankP - 1) < 1e-6);
});

test('two samples of the same kind are not distinguished, and a small shift is', () => {
  const random = createRandom(7);
  const noise = () => Array.from({ length: 200 }, () => 100 + random() * 10);
  const first = noise();
  const same = compare({ first, second: noise() }, random);
  assert.ok(same.rankP > 0.01 && same.medianP > 0.01, JSON.stringify(same));
  assert.ok(same.interval[0] < 0 && same.interval[1] > 0);
  const shifted = compare({ first, second: noise().map((value) => value + 2) }, random);
  assert.ok(shifted.rankP < 0.001 && shifted.medianP < 0.001, JSON.stringify(shifted));
  assert.ok(shifted.auc > 0.6 && shifted.interval[0] > 0);
});
