import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { forecast } from './forecast.ts';
import { DAY_MS } from './time.ts';

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

  test('says nothing at the beginning of a period, unless days are recorded', () => {
    const now = NOVEMBER + DAY_MS;
    assert.equal(forecast(counted, now).expected, null);
    assert.equal(forecast(counted, now, [1, 1, 1, 1, 1, 1, 1]).expected, 50 + 29);
  });

  test('a total that lasts is never full', () => {
    const slow = { ...counted, total: 10 };
    assert.equal(forecast(slow, NOVEMBER + 15 * DAY_MS).fullAt, null);
    assert.equal(forecast({ ...counted, period: null }, NOVEMBER).expected, null);
  });
});
