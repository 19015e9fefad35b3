import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makeUpSeed } from '../../support/random.ts';
import { temporaryFolder } from '../../support/server-process.ts';
import { runCountStorm } from './count-storm.ts';

/** `npm run faults -- count-storm` kills more often, in longer storms. */
const KILLS = 2;
const MAX_ANSWERED = 300;

describe('a server that is killed while many count', () => {
  test('has counted every request once in the end, if it is repeated under its key', async (t) => {
    const seed = makeUpSeed();
    t.diagnostic(`seed ${seed}`);
    const sizes = { cycles: KILLS, mostAnswered: MAX_ANSWERED };
    const report = await runCountStorm({ ...sizes, seed, data: temporaryFolder(t) });
    assert.deepEqual(report.violations, []);
    assert.equal(report.cycles, KILLS);
    assert.ok(report.answered >= KILLS * 50);
    t.diagnostic(`${report.answered} answered, ${report.repeated} of them repeated`);
  });
});
