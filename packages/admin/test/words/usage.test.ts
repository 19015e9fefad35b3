import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SlotHistory } from '@berth/protocol/admin/history';
import { DAY_MS, HOUR_MS } from '../../src/words/time.ts';
import {
  fillSteps,
  groupDenials,
  heatOf,
  readReportPeriod,
  type Step,
  sayTight,
  sumByLicense,
  summarize,
} from '../../src/words/usage.ts';

const START = Date.UTC(2026, 10, 16);
const time = (hours: number) => new Date(START + hours * HOUR_MS).toISOString();
const point = (hours: number, in_use: number, peak: number, denials = 0) => ({
  ...{ at: time(hours), in_use, average: (in_use + peak) / 2, peak, borrowed: 1 },
  ...{ grants: 1, returns: 0, denials },
});

const SERIES = {
  ...{ license_id: 1, product: 'cad', name: 'CAD', feature: null, slots: 4, begins_at: time(0) },
  totals: { average: 2, peak: 4, grants: 2, returns: 0, denials: 5 },
  points: [point(1, 2, 2), point(3, 3, 4, 5)],
};
const RENDER = { ...SERIES, feature: 'render', points: [point(0, 0, 0, 2), point(3, 1, 1, 1)] };
const HISTORY: SlotHistory = {
  ...{ since: time(0), until: time(6), grain: 'hour', step_ms: HOUR_MS },
  series: [SERIES, RENDER],
};

describe('usage over time', () => {
  const steps = fillSteps(HISTORY, 1, START + 5.5 * HOUR_MS);

  test('it is not called never tight when requests were denied', () => {
    const cell = { weekday: 0, hour: 9, average: 1, denials: 0 };
    assert.match(sayTight([cell], 4), /^It is never tight:/);
    assert.match(sayTight([{ ...cell, denials: 2 }], 4), /^It is tight only for moments, with denials:/);
    assert.equal(sayTight([{ ...cell, average: 4 }], 4), 'Mon, between 09:00 and 10:00.');
  });

  test('what was in use stays so until something is recorded, and the future is left out', () => {
    assert.deepEqual(
      steps.map(({ peak }) => peak),
      [0, 2, 2, 4, 3, 3],
    );
  });

  test('its figures', () => {
    const { peak, denials, mostBorrowed } = summarize(steps);
    assert.deepEqual([peak, denials, mostBorrowed], [4, 8, 1], 'those of features count, too');
    assert.deepEqual(
      groupDenials(steps).counts.map(([, count]) => count),
      [2, 0, 0, 6, 0, 0],
      'by hours, since it is less than a day',
    );
    const days = groupDenials([...steps, { ...(steps[3] as Step), at: START + 50 * HOUR_MS }]);
    assert.equal(days.lengthMs, DAY_MS);
    assert.equal(
      days.counts.reduce((sum, [, count]) => sum + count, 0),
      14,
    );
  });

  test('time before the license was added does not count', () => {
    const late = { ...HISTORY, series: [{ ...SERIES, begins_at: time(1) }] };
    assert.equal(fillSteps(late, 1, START + 5.5 * HOUR_MS)[0]?.at, START + HOUR_MS);
    const whole = fillSteps({ ...HISTORY, until: time(5) }, 1, START + 9 * HOUR_MS);
    assert.equal(whole.at(-1)?.at, START + 4 * HOUR_MS, 'the end is excluded');
  });

  test('the week has an hour for each step, and no denial is lost', () => {
    const cells = heatOf(steps, HOUR_MS) ?? [];
    assert.equal(cells.length, 7 * 24);
    assert.equal(
      cells.reduce((sum, { denials }) => sum + denials, 0),
      8,
    );
    assert.equal(heatOf(steps, 24 * HOUR_MS), null);
  });
});

test('denials of a license include those of its features', () => {
  const row = (license_id: number, feature: string | null, count: number) => {
    return { license_id, product: 'cad', name: 'CAD', feature, count };
  };
  const sums = sumByLicense([row(1, null, 4), row(2, null, 1), row(1, 'render', 2)]);
  assert.deepEqual(
    [...sums],
    [
      [1, 6],
      [2, 1],
    ],
  );
});

test('a report is about the last days, or about any', () => {
  const noon = new Date(2026, 10, 16, 12, 1).getTime();
  const spanOf = (text: string | null) => {
    const { since, until } = readReportPeriod(text, noon);
    return [(since - noon) / DAY_MS, (until - since) / DAY_MS].map(Math.round);
  };
  assert.deepEqual(spanOf(null), [-30, 30]);
  assert.deepEqual(spanOf('24h'), [-1, 1]);
  assert.deepEqual(spanOf('2026-11-02..2026-11-06'), [-15, 5]);
  assert.deepEqual(spanOf('2027-01-01..2027-01-02'), [-30, 30], 'the future has no report');
  assert.equal(readReportPeriod('today', noon).since, new Date(2026, 10, 16).getTime());
});
