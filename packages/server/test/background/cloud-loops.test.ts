import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chooseDelayMs, createCloudChecks } from '../../src/background/cloud-loops.ts';
import { CloudFault } from '../../src/cloud/cloud.ts';
import type { CloudLink } from '../../src/services/cloud/cloud-link.ts';
import { createQuietLog } from '../../src/telemetry/log.ts';

const HOUR_MS = 60 * 60 * 1000;

describe('when to contact the licensing cloud next', () => {
  test('about once an interval, but not at the same moment as other servers', () => {
    assert.equal(chooseDelayMs(HOUR_MS, 0, 0), 0.9 * HOUR_MS);
    assert.equal(chooseDelayMs(HOUR_MS, 0, 0.5), HOUR_MS);
    assert.ok(Math.abs(chooseDelayMs(HOUR_MS, 0, 1) - 1.1 * HOUR_MS) < 1);
  });

  test('after failures with twice the delay each time, up to a quarter of an hour', () => {
    const delays = [1, 2, 3, 4].map((failures) => chooseDelayMs(HOUR_MS, failures, 1));
    assert.deepEqual(delays, [5000, 10_000, 20_000, 40_000]);
    assert.equal(chooseDelayMs(HOUR_MS, 1000, 1), 15 * 60 * 1000);
    assert.equal(chooseDelayMs(HOUR_MS, 1000, 0), 7.5 * 60 * 1000);
  });
});

describe('rounds of checks', () => {
  test('come later and later if one license fails, though others succeed', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    t.mock.method(Math, 'random', () => 1);
    let rounds = 0;
    let isWell = false;
    const link = {
      checkAll: async () => {
        rounds += 1;
        if (!isWell) throw new CloudFault('timeout', 'One went wrong.', { mayHaveArrived: true });
      },
      isFailing: () => rounds > 0 && !isWell,
    } as unknown as CloudLink;
    const loop = createCloudChecks(link, createQuietLog(), HOUR_MS);
    loop.start();
    const seen: number[] = [];
    const pass = async (delayMs: number) => {
      t.mock.timers.tick(delayMs - 1);
      await new Promise(setImmediate);
      seen.push(rounds);
      t.mock.timers.tick(1);
      await new Promise(setImmediate);
      seen.push(rounds);
    };
    await pass(5500);
    await pass(5000);
    await pass(10_000);
    isWell = true;
    await pass(20_000);
    await pass(1.1 * HOUR_MS);
    assert.deepEqual(seen, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5]);
    await loop.stop();
  });
});
