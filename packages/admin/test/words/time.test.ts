import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  formatDay,
  formatDuration,
  formatMoment,
  formatSpan,
  formatUtc,
  HOUR_MS,
  listClockTicks,
  MINUTE_MS,
} from '../../src/words/time.ts';

const at = (text: string) => new Date(text).getTime();

describe('times', () => {
  const now = at('2026-11-19T14:32:08');

  test('of today are clocks, others have a day, and far ones a year', () => {
    assert.equal(formatMoment(at('2026-11-19T08:04:59'), now), '08:04');
    assert.equal(formatMoment(at('2026-11-16T08:04:00'), now), 'Mon 16 Nov, 08:04');
    assert.equal(formatDay(at('2026-11-28T00:00:00'), now), 'Sat 28 Nov');
    assert.equal(formatDay(at('2027-03-31T12:00:00'), now), '31 Mar 2027');
  });

  test('are in UTC when they are pointed at', () => {
    assert.equal(formatUtc(Date.UTC(2026, 10, 16, 8, 4, 5)), '2026-11-16 08:04:05 UTC');
  });

  test('an axis names a few round times, however short it is', () => {
    const ticksIn = (ms: number) => listClockTicks(0, ms).map((at) => at / MINUTE_MS);
    assert.deepEqual(ticksIn(4 * MINUTE_MS), [0, 1, 2, 3, 4]);
    assert.deepEqual(ticksIn(50 * MINUTE_MS), [0, 10, 20, 30, 40, 50]);
    assert.deepEqual(ticksIn(24 * HOUR_MS).slice(0, 3), [0, 180, 360]);
  });

  test('spans are in their largest unit, durations add up', () => {
    assert.deepEqual([20_000, 9 * MINUTE_MS, HOUR_MS, 47 * HOUR_MS].map(formatSpan), [
      'less than a minute',
      '9 min',
      '1 hour',
      '2 days',
    ]);
    assert.deepEqual([50 * MINUTE_MS, 2275 * MINUTE_MS, 2 * HOUR_MS].map(formatDuration), [
      '50 min',
      '37 h 55 min',
      '2 h',
    ]);
  });
});
