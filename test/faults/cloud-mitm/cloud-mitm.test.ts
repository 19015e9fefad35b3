import assert from 'node:assert/strict';
import { after, describe, type TestContext, test } from 'node:test';
import { startCloudProcess } from '../../support/cloud/cloud-process.ts';
import { makeUpSeed } from '../../support/random.ts';
import { runCloudMitm } from './cloud-mitm.ts';
import { FORGERY, TRICKS } from './tricks.ts';

/** `npm run faults -- cloud-mitm` exchanges more. */
const EXCHANGES = 120;

const cloud = await startCloudProcess({ after });

async function storm(t: TestContext, seed: number, only?: readonly string[]) {
  t.diagnostic(`seed ${seed}`);
  const report = await runCloudMitm(t, { seed, exchanges: EXCHANGES, cloud, ...(only && { only }) });
  t.diagnostic(`${report.exchanges} exchanges in ${report.steps} steps, ${report.counted} counted`);
  return report;
}

describe('a man in the middle of the link to the cloud', () => {
  for (const [title, seed] of [
    ['as always', 13],
    ['as never before', makeUpSeed()],
  ] as const) {
    test(`who replays, mixes and cuts answers ${title} changes nothing and loses nothing`, async (t) => {
      const { violations, exchanges, played } = await storm(t, seed);
      assert.deepEqual(violations, []);
      assert.ok(exchanges >= EXCHANGES);
      const kinds = [...played.values()].filter((times) => times > 0).length;
      assert.ok(kinds >= 20, `${kinds} of ${TRICKS.length} kinds of tricks were played`);
    });
  }

  test('is detected when he has the key of the vendor', async (t) => {
    const { violations } = await storm(t, makeUpSeed(), [FORGERY.name]);
    assert.notDeepEqual(violations, []);
  });
});
