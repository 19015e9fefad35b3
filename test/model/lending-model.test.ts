import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { hasPostgres, sharedPostgres } from '../support/stores/postgres.ts';
import { type Lane, runLane } from './history-lane.ts';

/** How many histories. `BERTH_MODEL_SEED` plays the same ones again. */
const RUNS = Number(process.env.BERTH_MODEL_RUNS ?? 2);
const SEED = Number(process.env.BERTH_MODEL_SEED ?? randomInt(2 ** 31));

/**
 * So many are under way at a time, each in a thread of its own; half of them wait for a database. A few are
 * over before a thread has loaded everything.
 */
const LANES = RUNS > 100 ? 4 : 1;

const shared = sharedPostgres();

/** Their histories differ in nothing but restarts from those for all stores, so that half of them will do. */
test('SQLite answers every history as the model does', async (t) => {
  const runs = Math.ceil(RUNS / 2);
  t.diagnostic(`seed ${SEED} (BERTH_MODEL_SEED), ${runs} histories (half of BERTH_MODEL_RUNS)`);
  const steps = await runLane({ seed: SEED, runs, database: null });
  t.diagnostic(JSON.stringify({ histories: runs, steps }));
});

test('SQLite, PostgreSQL and the model answer every history alike', async (t) => {
  if (!hasPostgres) return t.skip('optional: needs PostgreSQL for this platform');
  t.diagnostic(`seed ${SEED} (BERTH_MODEL_SEED), ${RUNS} histories (BERTH_MODEL_RUNS)`);
  const postgres = await shared();
  const runs = Math.ceil(RUNS / LANES);
  const lanes: Promise<number>[] = [];
  for (let lane = 0; lane < LANES; lane++) {
    lanes.push(startLane(t, { seed: SEED + lane, runs, database: await postgres.createDatabase('tables') }));
  }
  const steps = (await Promise.all(lanes)).reduce((sum, count) => sum + count, 0);
  t.diagnostic(JSON.stringify({ histories: runs * LANES, steps }));
});

/** When one has failed the test is over, and so are the others. */
async function startLane(t: TestContext, lane: Lane): Promise<number> {
  if (LANES === 1) return runLane(lane);
  const worker = new Worker(new URL('./history-lane.ts', import.meta.url), { workerData: lane });
  t.after(() => worker.terminate());
  const [steps] = await once(worker, 'message');
  return steps as number;
}
