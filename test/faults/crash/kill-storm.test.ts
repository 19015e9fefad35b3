import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makeUpSeed } from '../../support/random.ts';
import { temporaryFolder } from '../../support/server-process.ts';
import { LEAST_ACKNOWLEDGED, runKillStorm } from './kill-storm.ts';

/** After each kill every slot, record and chain is looked at. `npm run faults` kills a hundred times. */
const STORMS = 2;
const KILLS_A_STORM = 4;

describe('a server that is killed under load', () => {
  test('has lost nothing that it acknowledged, lent nothing twice, and recorded every slot', async (t) => {
    const storms = Array.from({ length: STORMS }, async () => {
      const seed = makeUpSeed();
      t.diagnostic(`seed ${seed}`);
      const cycles = KILLS_A_STORM;
      return runKillStorm({ cycles, seed, data: temporaryFolder(t), mostAcknowledged: 150 });
    });
    for (const report of await Promise.all(storms)) {
      assert.deepEqual(report.violations, []);
      assert.equal(report.cycles, KILLS_A_STORM);
      assert.ok(report.acknowledged >= KILLS_A_STORM * LEAST_ACKNOWLEDGED);
    }
  });

  test('is detected when it loses its log', async (t) => {
    const seed = makeUpSeed();
    t.diagnostic(`seed ${seed}`);
    const report = await runKillStorm({ cycles: 3, seed, data: temporaryFolder(t), losesLog: true });
    assert.notDeepEqual(report.violations, []);
  });
});
