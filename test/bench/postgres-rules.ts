import { randomBytes } from 'node:crypto';
import { startPostgres } from '../support/stores/postgres.ts';
import type { BenchRun } from './bench-run.ts';
import { CHANGED_SEED, waitForChange } from './rule-change.ts';
import { BENCH_RULES, compareRules, RULED_SEEDS } from './scenarios/rules-scenario.ts';
import type { Scenario, Verdict } from './scenarios.ts';
import { openBenchDatabase, seedDatabase } from './seed-store.ts';
import { startBerthOn } from './servers.ts';

/** The same as on SQLite, with a database for each of the servers. */
export const postgresRules: Scenario = {
  name: 'rules',
  about: 'ten groups of 1,000 members and 50 rules, by turns with no rules; a change of them',
  async run(bench: BenchRun): Promise<readonly Verdict[]> {
    const postgres = await startPostgres({ durable: true });
    bench.keep({ stop: () => postgres.end() });
    const createPlace = async () => {
      return { url: await postgres.createDatabase(), masterKey: randomBytes(32).toString('hex') };
    };
    const [plain, ruled, changed] = [await createPlace(), await createPlace(), await createPlace()];
    await seedDatabase(plain.url, plain.masterKey, RULED_SEEDS);
    await seedDatabase(ruled.url, ruled.masterKey, RULED_SEEDS, BENCH_RULES);
    const start = async (place: typeof plain) => bench.keep(await startBerthOn(place, bench.makeFolder()));
    const verdicts = await compareRules(bench, await start(plain), await start(ruled));
    await seedDatabase(changed.url, changed.masterKey, [CHANGED_SEED]);
    const store = await openBenchDatabase(changed.url, changed.masterKey, { isServing: true });
    try {
      return [...verdicts, await waitForChange(store)];
    } finally {
      await store.close();
    }
  },
};
