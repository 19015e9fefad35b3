import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { runBerth } from '../../support/berth-command.ts';
import { makeUpSeed } from '../../support/random.ts';
import { temporaryFolder } from '../../support/server-process.ts';
import { LEAST_ACKNOWLEDGED, runKillStorm } from './kill-storm.ts';

/**
 * The servers share their compiled code, which makes them start twice as fast. One that is killed leaves none
 * behind, so a command does that first.
 */
before(async () => {
  await runBerth(temporaryFolder({ after }), ['config']);
});

/** Together at least a hundred kills, each with a look at every slot, every record and every chain. */
const STORMS = 2;
const KILLS_A_STORM = 50;

describe('a server that is killed in the middle of a storm', () => {
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

  test('is found out when it loses its log', async (t) => {
    const seed = makeUpSeed();
    t.diagnostic(`seed ${seed}`);
    const report = await runKillStorm({ cycles: 3, seed, data: temporaryFolder(t), losesLog: true });
    assert.notDeepEqual(report.violations, []);
  });
});
