import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Channel } from '../../../src/core/notify/channel.ts';
import { isDigestDue, isDue, type ToldTopics } from '../../../src/core/notify/when.ts';
import { HOUR_MS, type Instant, instant, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import type { Topic } from '../../../src/core/nouns/topics.ts';
import { exampleChannel } from './example-channel.ts';

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
  const berlin = { zone: 'Europe/Berlin', quiet: null };
  // The 14th is a Monday.
  const sent = at(14, 8, 1);

  test('on Monday at eight, once', () => {
    assert.equal(isDigestDue(berlin, sent, at(20, 23, 59)), false);
    assert.equal(isDigestDue(berlin, sent, at(21, 7, 59)), false);
    assert.equal(isDigestDue(berlin, sent, at(21, 8)), true);
    assert.equal(isDigestDue(berlin, at(21, 8), at(21, 8, 1)), false);
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

  test('later, if the server was away on Monday', () => {
    assert.equal(isDigestDue(berlin, sent, at(24, 3)), true);
    assert.equal(isDigestDue(berlin, at(24, 3), at(27, 23)), false);
    assert.equal(isDigestDue(berlin, at(24, 3), at(28, 8)), true);
  });

  test('once a week while clocks change', () => {
    // Clocks go forward on the night to the 31st of March.
    const monday = instant(Date.UTC(2030, 2, 25, 7));
    const due = Array.from({ length: 14 * 24 }, (_, hour) => plus(monday, hour * HOUR_MS)).reduce(
      ({ last, sent }, now) =>
        isDigestDue(berlin, last, now) ? { last: now, sent: [...sent, now] } : { last, sent },
      { last: monday, sent: [] as readonly Instant[] },
    ).sent;
    assert.deepEqual(due, [instant(Date.UTC(2030, 3, 1, 6)), instant(Date.UTC(2030, 3, 8, 6))]);
  });
});
