import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startCloudProcess } from '../../support/cloud/cloud-process.ts';
import { makeUpSeed } from '../../support/random.ts';
import { runCloudMitm } from './cloud-mitm.ts';
import { TRICKS } from './tricks.ts';

/** `npm run faults -- cloud-mitm` exchanges more. */
const EXCHANGES = 120;

const cloud = await startCloudProcess({ after });

describe('a man in the middle of the link to the cloud', () => {
  test('who replays, mixes and cuts answers changes nothing and loses nothing', async (t) => {
    const seed = makeUpSeed();
    t.diagnostic(`seed ${seed}`);
    const report = await runCloudMitm(t, { seed, exchanges: EXCHANGES, cloud });
    const { violations, exchanges, played } = report;
    t.diagnostic(`${exchanges} exchanges in ${report.steps} steps, ${report.counted} counted`);
    assert.deepEqual(violations, []);
    assert.ok(exchanges >= EXCHANGES);
    const kinds = [...played.values()].filter((times) => times > 0).length;
    assert.ok(kinds >= 20, `${kinds} of ${TRICKS.length} kinds of tricks were played`);
  });
});
