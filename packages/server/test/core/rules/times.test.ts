import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Instant, instant, MINUTE_MS } from '../../../src/core/nouns/instant.ts';
import { EMPTY_RULE_SET, type Times } from '../../../src/core/rules/rule-set.ts';
import { isDuring, listStarts } from '../../../src/core/rules/times.ts';

const EVERY_DAY = [0, 1, 2, 3, 4, 5, 6];

function timesOf(from: string, to: string, facts: Partial<Times> = {}): Times {
  const minuteOf = (text: string) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));
  return { days: EVERY_DAY, from: minuteOf(from), to: minuteOf(to), zone: 'Europe/Berlin', ...facts };
}

const at = (text: string): Instant => instant(Date.parse(text));

function isAt(times: Times, text: string): boolean {
  return isDuring({ ...EMPTY_RULE_SET, times: { window: times } }, 'window', at(text));
}

/** How many minutes of a day, as the zone has it, are in the window. */
function countMinutes(times: Times, first: string, hours: number): number {
  const rules = { ...EMPTY_RULE_SET, times: { window: times } };
  const minutes = Array.from({ length: hours * 60 }, (_, index) => instant(at(first) + index * MINUTE_MS));
  return minutes.filter((minute) => isDuring(rules, 'window', minute)).length;
}

describe('times', () => {
  test('a rule without them always applies, and one with unknown times never', () => {
    assert.equal(isDuring(EMPTY_RULE_SET, null, at('2030-01-01T00:00Z')), true);
    assert.equal(isDuring(EMPTY_RULE_SET, 'office', at('2030-01-01T00:00Z')), false);
    assert.equal(isDuring(EMPTY_RULE_SET, 'constructor', at('2030-01-01T00:00Z')), false);
  });

  test('begin and end to the minute, by the clock of the zone', () => {
    const office = timesOf('08:00', '18:00', { days: [1, 2, 3, 4, 5] });
    assert.equal(isAt(office, '2030-01-15T06:59:59.999Z'), false);
    assert.equal(isAt(office, '2030-01-15T07:00Z'), true);
    assert.equal(isAt(office, '2030-01-15T16:59:59.999Z'), true);
    assert.equal(isAt(office, '2030-01-15T17:00Z'), false);
    assert.equal(isAt(office, '2030-07-15T06:00Z'), true, 'an hour earlier in summer');
    assert.equal(isAt(office, '2030-01-19T12:00Z'), false, 'a Saturday');
  });

  test('a window beyond midnight belongs to the day on which it begins', () => {
    const night = timesOf('22:00', '06:00', { days: [5], zone: 'UTC' });
    assert.equal(isAt(night, '2030-01-18T05:00Z'), false);
    assert.equal(isAt(night, '2030-01-18T22:00Z'), true);
    assert.equal(isAt(night, '2030-01-19T05:59Z'), true, 'the morning of Saturday');
    assert.equal(isAt(night, '2030-01-19T22:00Z'), false);
    const day = timesOf('07:00', '07:00', { days: [6], zone: 'UTC' });
    assert.equal(isAt(day, '2030-01-19T06:59Z'), false);
    assert.equal(isAt(day, '2030-01-20T06:59Z'), true, 'a whole day');
    assert.equal(isAt(day, '2030-01-20T07:00Z'), false);
  });

  test('on the days when clocks change, the clock on the wall counts', () => {
    const early = timesOf('02:00', '03:00');
    // In March the clock goes from 02:00 to 03:00, in October from 03:00 back to 02:00.
    assert.equal(countMinutes(early, '2030-03-30T23:00Z', 23), 0);
    assert.equal(countMinutes(early, '2030-10-26T22:00Z', 25), 120);
    assert.equal(isAt(early, '2030-10-27T00:30Z'), true);
    assert.equal(isAt(early, '2030-10-27T01:30Z'), true, 'the same hour again');
    const wide = timesOf('01:30', '03:30');
    assert.equal(countMinutes(wide, '2030-03-30T23:00Z', 23), 60);
    assert.equal(countMinutes(wide, '2030-10-26T22:00Z', 25), 180);
    const allDay = timesOf('00:00', '00:00', { days: [0] });
    assert.equal(countMinutes(allDay, '2030-03-30T22:00Z', 26), 23 * 60);
    assert.equal(countMinutes(allDay, '2030-10-26T21:00Z', 28), 25 * 60);
  });

  test('know every day of the week', () => {
    for (const day of EVERY_DAY) {
      const times = timesOf('10:00', '11:00', { days: [day] });
      const days = EVERY_DAY.filter((_, index) => isAt(times, `2030-01-${13 + index}T09:30Z`));
      assert.deepEqual(days, [day]);
    }
  });

  test('begin so often within a week', () => {
    const office = timesOf('08:00', '18:00', { days: [1, 3, 4] });
    const rules = { ...EMPTY_RULE_SET, times: { window: office } };
    // A Wednesday, at half past eight there.
    const starts = listStarts(office, at('2030-01-16T07:30Z'));
    assert.deepEqual(starts, ['2030-01-21T07:00Z', '2030-01-23T07:00Z', '2030-01-17T07:00Z'].map(at));
    for (const start of starts) {
      assert.equal(isDuring(rules, 'window', start), true);
      assert.equal(isDuring(rules, 'window', instant(start - 1)), false);
    }
  });

  test('zones that are not whole hours away, and days that differ from those of UTC', () => {
    const lunch = timesOf('12:00', '13:00', { zone: 'Asia/Kathmandu', days: [1] });
    assert.equal(isAt(lunch, '2030-01-14T06:14Z'), false);
    assert.equal(isAt(lunch, '2030-01-14T06:15Z'), true);
    const morning = timesOf('00:00', '08:00', { zone: 'Pacific/Auckland', days: [1] });
    assert.equal(isAt(morning, '2030-01-13T12:00Z'), true, 'Monday there, Sunday here');
    // On Lord Howe the clock changes by half an hour.
    const howe = timesOf('01:30', '02:00', { zone: 'Australia/Lord_Howe' });
    assert.equal(countMinutes(howe, '2030-04-06T13:00Z', 25), 60);
  });
});
