import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type BackupSchedule,
  dueAt,
  isOverdue,
  parseSchedule,
} from '../../../src/core/nouns/backup-schedule.ts';
import { DAY_MS, HOUR_MS, instant, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';

const NOON = instant(Date.UTC(2030, 0, 15, 12));

describe('a schedule of backups', () => {
  test('is a time of day or a period within bounds', () => {
    assert.deepEqual(parseSchedule('03:30'), { periodMs: DAY_MS, atMs: 3.5 * HOUR_MS });
    assert.deepEqual(parseSchedule('6h'), { periodMs: 6 * HOUR_MS, atMs: null });
    assert.deepEqual(parseSchedule('5m'), { periodMs: 5 * MINUTE_MS, atMs: null });
    for (const wrong of ['', '24:00', '3:30', '12:60', '4m', '0h', '745h', '6 h', 'daily', '6h ']) {
      assert.equal(parseSchedule(wrong), null, wrong);
    }
  });

  test('says when the next one is due, and when it is overdue', () => {
    const daily = parseSchedule('03:30') as BackupSchedule;
    const next = plus(NOON, 15.5 * HOUR_MS);
    assert.equal(dueAt(daily, NOON), next);
    assert.equal(dueAt(daily, plus(next, -1)), next);
    assert.equal(dueAt(daily, next), plus(next, DAY_MS), 'not twice for the same time');
    assert.equal(dueAt(parseSchedule('12:00') as BackupSchedule, NOON), plus(NOON, DAY_MS));
    assert.equal(dueAt(daily, instant(HOUR_MS)), 3.5 * HOUR_MS, 'also on a clock that begins in 1970');
    const periodic = parseSchedule('6h') as BackupSchedule;
    const due = dueAt(periodic, NOON);
    assert.equal(due, plus(NOON, 6 * HOUR_MS));
    assert.equal(isOverdue(periodic, due, plus(due, 6 * HOUR_MS - 1)), false);
    assert.equal(isOverdue(periodic, due, plus(due, 6 * HOUR_MS)), true);
  });
});

test('a period of backups is from five minutes to 31 days', () => {
  const valid = ['4m', '5m', '744h', '745h'].map((text) => parseSchedule(text) !== null);
  assert.deepEqual(valid, [false, true, true, false]);
});
