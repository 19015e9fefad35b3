import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makeUpSeed } from '../../support/random.ts';
import { temporaryFolder } from '../../support/server-process.ts';
import { LEAST_ACKNOWLEDGED, runKillStorm } from './kill-storm.ts';

/** After each kill every slot, record and chain is looked at. `npm run faults` kills a hundred times. */
const KILLS = 4;

/** `npm run faults` also makes longer storms. */
const MAX_ACKNOWLEDGED = 150;

describe('a server that is killed under load', () => {
  test('has lost nothing that it acknowledged, lent nothing twice, and recorded every slot', async (t) => {
    const seed = makeUpSeed();
    t.diagnostic(`seed ${seed}`);
    const sizes = { cycles: KILLS, mostAcknowledged: MAX_ACKNOWLEDGED };
    const report = await runKillStorm({ ...sizes, seed, data: temporaryFolder(t) });
    assert.deepEqual(report.violations, []);
    assert.equal(report.cycles, KILLS);
    assert.ok(report.acknowledged >= KILLS * LEAST_ACKNOWLEDGED);
  });
});
