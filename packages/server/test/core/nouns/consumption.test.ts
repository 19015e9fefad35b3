import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ConsumptionPeriod } from '@berth/protocol/api/consumption-window';
import fc from 'fast-check';
import { readSeed } from '../../../../../test/support/random.ts';
import { highestTotal, windowEnd, windowStart } from '../../../src/core/nouns/consumption.ts';
import { HOUR_MS, instant } from '../../../src/core/nouns/instant.ts';
import { exampleLimits } from '../examples.ts';

const SEED = readSeed();
const DAY_MS = 24 * HOUR_MS;
const PERIODS = ['daily', 'weekly', 'monthly', 'annually'] as const;

/** A moment, and the first instants of its window and of the next one. */
const WINDOWS: readonly (readonly [ConsumptionPeriod, string, string, string])[] = [
  ['daily', '2030-01-15T12:00:00.000Z', '2030-01-15', '2030-01-16'],
  ['daily', '2030-01-15T00:00:00.000Z', '2030-01-15', '2030-01-16'],
  ['daily', '2030-01-15T23:59:59.999Z', '2030-01-15', '2030-01-16'],
  ['daily', '2028-02-28T23:59:59.999Z', '2028-02-28', '2028-02-29'],
  ['daily', '2028-02-29T23:59:59.999Z', '2028-02-29', '2028-03-01'],
  ['daily', '2100-02-28T12:00:00.000Z', '2100-02-28', '2100-03-01'],
  // Where many zones change to summer time, and back.
  ['daily', '2030-03-10T07:00:00.000Z', '2030-03-10', '2030-03-11'],
  ['daily', '2030-03-31T01:00:00.000Z', '2030-03-31', '2030-04-01'],
  ['daily', '2030-10-27T00:30:00.000Z', '2030-10-27', '2030-10-28'],
  ['daily', '2030-11-03T06:30:00.000Z', '2030-11-03', '2030-11-04'],

  ['weekly', '2030-01-14T00:00:00.000Z', '2030-01-14', '2030-01-21'],
  ['weekly', '2030-01-15T12:00:00.000Z', '2030-01-14', '2030-01-21'],
  ['weekly', '2030-01-20T23:59:59.999Z', '2030-01-14', '2030-01-21'],
  ['weekly', '2030-01-13T23:59:59.999Z', '2030-01-07', '2030-01-14'],
  ['weekly', '2029-01-01T00:00:00.000Z', '2029-01-01', '2029-01-08'],
  ['weekly', '2028-12-31T23:59:59.999Z', '2028-12-25', '2029-01-01'],
  ['weekly', '2030-01-01T12:00:00.000Z', '2029-12-31', '2030-01-07'],
  ['weekly', '2028-03-01T12:00:00.000Z', '2028-02-28', '2028-03-06'],
  ['weekly', '1970-01-05T00:00:00.000Z', '1970-01-05', '1970-01-12'],
  ['weekly', '1970-01-01T00:00:00.000Z', '1969-12-29', '1970-01-05'],

  ['monthly', '2030-01-31T23:59:59.999Z', '2030-01-01', '2030-02-01'],
  ['monthly', '2030-02-01T00:00:00.000Z', '2030-02-01', '2030-03-01'],
  ['monthly', '2030-12-31T23:59:59.999Z', '2030-12-01', '2031-01-01'],
  ['monthly', '2031-01-01T00:00:00.000Z', '2031-01-01', '2031-02-01'],
  ['monthly', '2028-02-29T12:00:00.000Z', '2028-02-01', '2028-03-01'],
  ['monthly', '2100-02-28T23:59:59.999Z', '2100-02-01', '2100-03-01'],
  ['monthly', '2030-03-31T23:59:59.999Z', '2030-03-01', '2030-04-01'],
  ['monthly', '2030-11-01T03:30:00.000Z', '2030-11-01', '2030-12-01'],

  ['annually', '2030-12-31T23:59:59.999Z', '2030-01-01', '2031-01-01'],
  ['annually', '2031-01-01T00:00:00.000Z', '2031-01-01', '2032-01-01'],
  ['annually', '2028-02-29T12:00:00.000Z', '2028-01-01', '2029-01-01'],
  ['annually', '2028-12-31T23:59:59.999Z', '2028-01-01', '2029-01-01'],
  ['annually', '2100-12-31T23:59:59.999Z', '2100-01-01', '2101-01-01'],
];

function parse(text: string) {
  return instant(Date.parse(text));
}

function assertWindows(): void {
  for (const [period, at, start, end] of WINDOWS) {
    assert.equal(windowStart(period, parse(at)), parse(start), `${period} at ${at}`);
    assert.equal(windowEnd(period, parse(at)), parse(end), `${period} at ${at}`);
  }
}

/** The table, where the host lives somewhere else. */
function assertWindowsIn(zone: string): void {
  const before = process.env.TZ;
  process.env.TZ = zone;
  try {
    assertWindows();
  } finally {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  }
}

describe('the window that holds a moment', () => {
  test('begins and ends at its boundary in UTC, to the millisecond', assertWindows);

  for (const zone of ['America/New_York', 'Europe/Berlin', 'Asia/Kathmandu', 'Pacific/Kiritimati']) {
    test(`is the same if the host is in ${zone}`, () => assertWindowsIn(zone));
  }

  test('never ends if there is no period', () => {
    for (const at of [0, 1, Date.UTC(2030, 0), Date.UTC(9999, 0)]) {
      assert.equal(windowStart(null, instant(at)), 0);
      assert.equal(windowEnd(null, instant(at)), null);
    }
  });

  test('contains the moment, and the next one begins where it ends', (t) => {
    t.diagnostic(`seed ${SEED} (BERTH_SEED)`);
    const moment = fc.integer({ min: 0, max: Date.UTC(2400, 0) });
    const property = fc.property(fc.constantFrom(...PERIODS), moment, (period, at) => {
      const now = instant(at);
      const start = windowStart(period, now);
      const end = windowEnd(period, now) as number;
      assert.ok(start <= now && now < end);
      assert.equal(windowStart(period, instant(end - 1)), start);
      assert.equal(windowStart(period, instant(end)), end);
      assert.equal(windowStart(period, start), start);
      assert.ok(start % DAY_MS === 0);
    });
    fc.assert(property, { seed: SEED, numRuns: 1000 });
  });
});

describe('the highest total', () => {
  const none = { allowOverages: null, maxOverages: null };
  const generous = exampleLimits({ allowOverages: true, maxOverages: 5 });

  test('is the maximum and the overage of the license', () => {
    assert.equal(highestTotal(exampleLimits(), none), 10);
    assert.equal(highestTotal(generous, none), 15);
    assert.equal(highestTotal(exampleLimits({ allowOverages: false, maxOverages: 5 }), none), 10);
    assert.equal(highestTotal(exampleLimits({ unlimited: true }), none), null);
  });

  test('can be lowered by the request', () => {
    assert.equal(highestTotal(generous, { allowOverages: false, maxOverages: null }), 10);
    assert.equal(highestTotal(generous, { allowOverages: false, maxOverages: 5 }), 10);
    assert.equal(highestTotal(generous, { allowOverages: null, maxOverages: 2 }), 12);
    assert.equal(highestTotal(generous, { allowOverages: true, maxOverages: 2 }), 12);
    assert.equal(highestTotal(generous, { allowOverages: true, maxOverages: null }), 15);
  });

  test('is never raised by it', (t) => {
    t.diagnostic(`seed ${SEED} (BERTH_SEED)`);
    const amount = fc.nat({ max: 1_000_000 });
    const limits = fc.record({ max: amount, allowOverages: fc.boolean(), maxOverages: amount });
    const narrowing = fc.record({ allowOverages: fc.option(fc.boolean()), maxOverages: fc.option(amount) });
    const property = fc.property(limits, narrowing, (facts, wanted) => {
      const highest = highestTotal(exampleLimits(facts), wanted) as number;
      assert.ok(highest <= facts.max + (facts.allowOverages ? facts.maxOverages : 0));
      assert.ok(highest >= facts.max);
      if (wanted.maxOverages !== null) assert.ok(highest <= facts.max + wanted.maxOverages);
      if (wanted.allowOverages === false) assert.equal(highest, facts.max);
    });
    fc.assert(property, { seed: SEED, numRuns: 1000 });
  });
});
