import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { temporaryFolder } from '../support/server-process.ts';
import { runKillStorm } from './kill-storm.ts';
import { makeUpSeed } from './random.ts';

describe('a server that is killed in the middle of a storm', () => {
  test('has lost nothing that it acknowledged, and lent nothing twice', async (t) => {
    const seed = makeUpSeed();
    t.diagnostic(`seed ${seed}`);
    const report = await runKillStorm({ cycles: 8, seed, data: temporaryFolder(t) });
    assert.deepEqual(report.violations, []);
    assert.equal(report.cycles, 8);
    assert.ok(report.acknowledged >= 8 * 50);
  });

  test('is found out when it loses its log', async (t) => {
    const seed = makeUpSeed();
    t.diagnostic(`seed ${seed}`);
    const report = await runKillStorm({ cycles: 3, seed, data: temporaryFolder(t), losesLog: true });
    assert.notDeepEqual(report.violations, []);
  });
});
