import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { forecast, spreadOf } from '../../src/words/forecast.ts';
import { DAY_MS } from '../../src/words/time.ts';

const NOVEMBER = Date.UTC(2026, 10, 1);

describe('a forecast', () => {
  const counted = { total: 50, max: 100, period: 'monthly', overage: 0 } as const;

  test('goes on at the pace so far', () => {
    const now = NOVEMBER + 10 * DAY_MS;
    const { expected, fullAt, perDay, endAt } = forecast(counted, now);
    assert.equal(perDay, 5);
    assert.equal(expected, 150);
    assert.equal(fullAt, NOVEMBER + 20 * DAY_MS);
    assert.equal(endAt, Date.UTC(2026, 11, 1));
  });

  test('says nothing at the beginning of a period', () => {
    assert.equal(forecast(counted, NOVEMBER + DAY_MS).expected, null);
  });

  test('spreads more the more the days differ, and the more of them are left', () => {
    assert.equal(spreadOf([4, 4, 4, 4], 9), 0);
    assert.equal(spreadOf([3, 5, 4, 4], 9), Math.sqrt((2 / 3) * 9));
    assert.equal(spreadOf([1, 9], 9), 0);
  });

  test('a total that lasts is never full', () => {
    const slow = { ...counted, total: 10 };
    assert.equal(forecast(slow, NOVEMBER + 15 * DAY_MS).fullAt, null);
    assert.equal(forecast({ ...counted, period: null }, NOVEMBER).expected, null);
  });
});
