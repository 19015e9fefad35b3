import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Channel } from '../../../src/core/notify/channel.ts';
import { type DigestPeriod, findDueDigest, isDue, type ToldTopics } from '../../../src/core/notify/when.ts';
import { DAY_MS, HOUR_MS, type Instant, instant, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import type { Topic } from '../../../src/core/nouns/topics.ts';
import { sayLocal, sayLocalDay } from '../../../src/core/rules/local-time.ts';
import { exampleChannel } from './example-channel.ts';

type Schedule = DigestPeriod['schedule'];

const QUIET = { from: 20 * 60, to: 7 * 60, withWeekends: true };

/** In Berlin, where it is one hour later in winter. */
function at(day: number, hour: number, minute = 0): Instant {
  return instant(Date.UTC(2030, 0, day, hour - 1, minute));
}

function due(
  facts: Partial<Channel>,
  topics: readonly Topic[],
  now: Instant,
  told: ToldTopics = {},
): boolean {
  return isDue(exampleChannel({ zone: 'Europe/Berlin', ...facts }), topics, told, now);
}

describe('a message is due', () => {
  const noon = at(15, 12);

  test('at once for a topic that was not told', () => {
    assert.equal(due({}, [], noon), false);
    assert.equal(due({}, ['slot_denied'], noon), true);
    assert.equal(due({}, ['slot_denied'], noon, { backup_failed: noon }), true);
  });

  test('after the gap for one that was, unless another topic takes it along', () => {
    const told = { slot_denied: plus(noon, -9 * MINUTE_MS) };
    assert.equal(due({}, ['slot_denied'], noon, told), false);
    assert.equal(due({}, ['slot_denied'], plus(noon, MINUTE_MS), told), true);
    assert.equal(due({ gapMinutes: 9 }, ['slot_denied'], noon, told), true);
    assert.equal(due({}, ['slot_denied', 'license_expiring'], noon, told), true);
  });

  test('also if the clock was set back', () => {
    assert.equal(due({}, ['slot_denied'], noon, { slot_denied: plus(noon, HOUR_MS) }), true);
  });

  test('not in quiet hours, unless it is critical', () => {
    const hours = [at(15, 19, 59), at(15, 20), at(16, 2), at(16, 6, 59), at(16, 7)];
    const [denied, jumped] = (['slot_denied', 'clock_jumped'] as const).map((topic) =>
      hours.map((now) => due({ quiet: QUIET }, [topic], now)),
    );
    assert.deepEqual(denied, [true, false, false, false, true]);
    assert.deepEqual(jumped, [true, true, true, true, true]);
    const week = [14, 15, 16, 17, 18, 19, 20].map((day) =>
      due({ quiet: { ...QUIET, withWeekends: false } }, ['slot_denied'], at(day, 22)),
    );
    assert.deepEqual(new Set(week), new Set([false]));
  });

  test('not on a quiet weekend', () => {
    // The 19th is a Saturday.
    const noons = [18, 19, 20, 21].map((day) => at(day, 12));
    const list = (withWeekends: boolean) =>
      noons.map((now) => due({ quiet: { ...QUIET, withWeekends } }, ['slot_denied'], now));
    assert.deepEqual(list(true), [true, false, false, true]);
    assert.deepEqual(list(false), [true, true, true, true]);
  });
});

describe('a digest is due', () => {
  const berlin = { zone: 'Europe/Berlin', quiet: null, digest: 'weekly' } as const;
  // The 14th is a Monday.
  const sent = at(14, 8, 1);
  const isDigestDue = (...asked: Parameters<typeof findDueDigest>) => findDueDigest(...asked) !== null;

  test('on Monday at eight, once', () => {
    assert.equal(isDigestDue(berlin, sent, at(20, 23, 59)), false);
    assert.equal(isDigestDue(berlin, sent, at(21, 7, 59)), false);
    assert.equal(isDigestDue(berlin, sent, at(21, 8)), true);
    assert.equal(isDigestDue(berlin, at(21, 8), at(21, 8, 1)), false);
  });

  test('every day, or on the 1st, at eight', () => {
    const daily = { ...berlin, digest: 'daily' } as const;
    const monthly = { ...berlin, digest: 'monthly' } as const;
    assert.equal(isDigestDue(daily, sent, at(15, 7, 59)), false);
    assert.equal(isDigestDue(daily, sent, at(15, 8)), true);
    assert.equal(isDigestDue(monthly, sent, at(32, 7, 59)), false);
    assert.equal(isDigestDue(monthly, sent, at(32, 8)), true);
    assert.equal(isDigestDue({ ...berlin, digest: 'off' }, sent, at(60, 8)), false);
  });

  test('on the day on which the channel was made, if that was before', () => {
    assert.equal(isDigestDue(berlin, at(21, 7, 58), at(21, 8)), true);
    assert.equal(isDigestDue(berlin, at(21, 6), at(21, 8)), true);
  });

  test('after quiet hours', () => {
    const quiet = { from: 20 * 60, to: 9 * 60, withWeekends: false };
    assert.equal(isDigestDue({ ...berlin, quiet }, sent, at(21, 8, 59)), false);
    assert.equal(isDigestDue({ ...berlin, quiet }, sent, at(21, 9)), true);
  });

  test('later, if the server was away, and only about the last period', () => {
    assert.equal(findDueDigest(berlin, sent, at(31, 3))?.date, '2030-01-21');
    assert.equal(isDigestDue(berlin, at(31, 3), at(34, 23)), false);
    assert.equal(isDigestDue(berlin, at(31, 3), at(35, 8)), true);
    assert.equal(findDueDigest({ ...berlin, digest: 'daily' }, sent, at(31, 3))?.date, '2030-01-29');
    assert.equal(findDueDigest({ ...berlin, digest: 'monthly' }, sent, at(100, 3))?.date, '2030-03-01');
  });

  test('also if the clock was set back', () => {
    assert.equal(isDigestDue(berlin, at(22, 8), at(21, 9)), true);
  });
});

describe('the digests of a year', () => {
  const LEAST_DAYS = { daily: 1, weekly: 7, monthly: 29 };

  /** In 2028, which is a leap year: looked for every half hour, but not for most of a period after one. */
  function listPeriods(zone: string, digest: Schedule) {
    const start = instant(Date.UTC(2028, 0, 2));
    const find = (lastAt: Instant, now: Instant) => findDueDigest({ zone, digest, quiet: null }, lastAt, now);
    const found: (DigestPeriod & { readonly dueAt: Instant })[] = [];
    for (let now = start; now < Date.UTC(2029, 0, 3); now = plus(now, HOUR_MS / 2)) {
      const period = find(found.at(-1)?.dueAt ?? start, now);
      if (period === null) continue;
      found.push({ ...period, dueAt: now });
      assert.equal(find(now, plus(now, MINUTE_MS)), null);
      now = plus(now, LEAST_DAYS[digest] * DAY_MS - 2 * HOUR_MS);
      assert.equal(find(found.at(-1)?.dueAt as Instant, now), null);
    }
    return found;
  }

  // Clocks skip midnight in Cairo, show it twice in Havana, and change by half an hour on Lord Howe.
  const zones = ['Europe/Berlin', 'Africa/Cairo', 'America/Havana', 'Australia/Lord_Howe'];
  for (const zone of zones) {
    test(`leave nothing out and tell nothing twice in ${zone}`, () => {
      for (const schedule of ['daily', 'weekly', 'monthly'] as const) {
        const periods = listPeriods(zone, schedule);
        assert.ok(periods.length >= Math.floor(366 / LEAST_DAYS[schedule]), `${periods.length} ${schedule}`);
        assert.equal(new Set(periods.map(({ date }) => date)).size, periods.length);
        for (const [place, { since, dueAt, date }] of periods.entries()) {
          assert.equal(since, periods[place - 1]?.until ?? since, `${schedule} ${date}`);
          assert.equal(sayLocal(zone, dueAt).slice(-5), '08:00');
          assert.equal(sayLocalDay(zone, since), sayLocalDay('UTC', instant(Date.parse(date))));
          assert.notEqual(sayLocalDay(zone, plus(since, -1)), sayLocalDay(zone, since));
        }
      }
    });
  }

  test('have days of 23 and 25 hours, and months of 29 to 31 days', () => {
    const hours = (schedule: Schedule, date: string) => {
      const found = listPeriods('Europe/Berlin', schedule).find((period) => period.date === date);
      return found && (found.until - found.since) / HOUR_MS;
    };
    assert.deepEqual(
      ['2028-03-25', '2028-03-26', '2028-10-29'].map((date) => hours('daily', date)),
      [24, 23, 25],
    );
    assert.equal(hours('weekly', '2028-03-20'), 7 * 24 - 1);
    assert.deepEqual(
      ['2028-01-01', '2028-02-01', '2028-03-01', '2028-04-01'].map((date) => hours('monthly', date)),
      [31 * 24, 29 * 24, 31 * 24 - 1, 30 * 24],
    );
  });
});
