import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SlotHistory } from '@berth/protocol/admin/history';
import { HOUR_MS } from '../../src/words/time.ts';
import { denialsByDay, fillSteps, heatOf, summarize } from '../../src/words/usage.ts';

const START = Date.UTC(2026, 10, 16);
const time = (hours: number) => new Date(START + hours * HOUR_MS).toISOString();
const point = (hours: number, in_use: number, peak: number, denials = 0) => ({
  ...{ at: time(hours), in_use, average: (in_use + peak) / 2, peak, borrowed: 1 },
  ...{ grants: 1, returns: 0, denials },
});

const SERIES = {
  ...{ license_id: 1, product: 'cad', name: 'CAD', feature: null, slots: 4 },
  totals: { average: 2, peak: 4, grants: 2, returns: 0, denials: 5 },
  points: [point(1, 2, 2), point(3, 4, 4, 5)],
};
const HISTORY: SlotHistory = {
  ...{ since: time(0), until: time(6), grain: 'hour', step_ms: HOUR_MS },
  series: [SERIES],
};

describe('usage over time', () => {
  const steps = fillSteps(HISTORY, SERIES, START + 5.5 * HOUR_MS);

  test('what was in use stays so until something is recorded, and the future is left out', () => {
    assert.deepEqual(
      steps.map(({ peak }) => peak),
      [0, 2, 2, 4, 4, 4],
    );
  });

  test('its figures', () => {
    const { peak, denials, mostBorrowed } = summarize(steps);
    assert.deepEqual([peak, denials, mostBorrowed], [4, 5, 1]);
    assert.equal(
      denialsByDay(steps).reduce((sum, [, count]) => sum + count, 0),
      5,
    );
  });

  test('the week has an hour for each step, and no denial is lost', () => {
    const cells = heatOf(steps, HOUR_MS) ?? [];
    assert.equal(cells.length, 7 * 24);
    assert.equal(
      cells.reduce((sum, { denials }) => sum + denials, 0),
      5,
    );
    assert.equal(heatOf(steps, 24 * HOUR_MS), null);
  });
});
