import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { type CloudProcess, startCloudProcess } from '../../support/cloud/cloud-process.ts';
import { readSeed } from '../../support/random.ts';
import { startBefore } from '../../support/start-before.ts';
import { type ReportStorm, runReportStorm } from './cloud-reports.ts';

/**
 * `BERTH_REPORTS` and `BERTH_SEED` make a longer storm, or the same one again; `npm run faults --
 * cloud-reports` makes a long one.
 */
const REPORTS = Number(process.env.BERTH_REPORTS ?? 30);
const SEED = readSeed();

let vendor: CloudProcess;
startBefore(async (life) => {
  vendor = await startCloudProcess(life);
});

async function storm(t: TestContext, wish: Partial<ReportStorm>) {
  const whole = { seed: SEED, reports: REPORTS, cutShare: 0.5, withoutIds: false, strangerEvery: 0, ...wish };
  const result = await runReportStorm(t, vendor, whole);
  t.diagnostic(`seed ${SEED} (BERTH_SEED)`);
  const facts = {
    'answers lost': result.cuts,
    'counted by the server': result.counted,
    'counted by the cloud': result.atCloud,
    'not reported yet': result.untold,
    'uncertain, for an administrator to settle': result.held,
  };
  t.diagnostic(JSON.stringify({ reports: whole.reports, ...facts }));
  assert.ok(result.cuts > whole.reports / 10, 'answers were lost');
  assert.equal(result.underWay, 0, 'nothing is left on its way');
  return result;
}

describe('reports whose answers are lost after the cloud has counted them', () => {
  test('are counted once: the total is exact', async (t) => {
    const { counted, atCloud, untold, held } = await storm(t, {});
    assert.deepEqual([atCloud, untold, held], [counted, 0, 0]);
  });

  test('even while somebody else counts on the license', async (t) => {
    const { counted, atCloud, untold, held } = await storm(t, { reports: REPORTS / 2, strangerEvery: 3 });
    assert.deepEqual([atCloud, untold, held], [counted, 0, 0]);
  });

  test('by a cloud without ids: the total is exact', async (t) => {
    const { counted, atCloud, untold, held } = await storm(t, { withoutIds: true });
    assert.deepEqual([atCloud, untold, held], [counted, 0, 0]);
  });

  test('by such a cloud while somebody else counts: held if unclear, never twice', async (t) => {
    // With so many cuts, one of them is followed by a stranger in every run.
    const wish = { reports: REPORTS / 2, withoutIds: true, strangerEvery: 3, cutShare: 0.7 };
    const { counted, atCloud, untold, held } = await storm(t, wish);
    assert.ok(held > 0, 'something could not be told');
    assert.ok(atCloud <= counted, 'nothing is counted twice');
    assert.ok(atCloud + untold + held >= counted, 'nothing is lost');
  });
});
