import { PRODUCTS, seed } from '../bench-licenses.ts';
import { benchRules } from '../bench-rules.ts';
import { type BenchRun, type Contested, judgeRate, type LoadWish, manyTurns } from '../bench-run.ts';
import { churnOf, renewal } from '../loads.ts';
import { CHANGED_SEED, waitForChange } from '../rule-change.ts';
import type { Scenario, Verdict } from '../scenarios.ts';
import { openBenchFolder, seedFolder } from '../seed-store.ts';
import { type BenchServer, startBerth } from '../servers.ts';

/** What the servers that are compared have at their start. */
export const RULED_SEEDS = [seed(1, PRODUCTS.renew, 2000, 1000), seed(2, PRODUCTS.half1000, 1000, 500)];

export const BENCH_RULES = benchRules(PRODUCTS.renew, PRODUCTS.half1000);

const CONNECTIONS = 64;

/** What rules cost: the same requests to two servers by turns, of which one has rules. */
export async function compareRules(
  bench: BenchRun,
  plain: BenchServer,
  ruled: BenchServer,
): Promise<readonly Verdict[]> {
  const compare = async (wish: LoadWish, leastRatio: number) => {
    const [first, second] = (await bench.takeTurns(
      [
        { servers: [ruled], wish: { ...wish, label: `${wish.label}, with rules` } },
        { servers: [plain], wish: { ...wish, label: `${wish.label}, without rules` } },
      ],
      manyTurns(bench.seconds),
    )) as [Contested, Contested];
    const target = `${wish.label}, with 50 rules: at least ${leastRatio} × the rate without`;
    return judgeRate(target, first, second, leastRatio);
  };
  return [
    await compare(renewal('heartbeat', CONNECTIONS), 0.95),
    await compare(churnOf(PRODUCTS.half1000, 1000, CONNECTIONS), 0.85),
  ];
}

export const rules: Scenario = {
  name: 'rules',
  about: 'ten groups of 1,000 members and 50 rules, by turns with no rules; a change of them',
  async run(bench): Promise<readonly Verdict[]> {
    const [plain, ruled, changed] = [bench.makeFolder(), bench.makeFolder(), bench.makeFolder()];
    await seedFolder(plain, RULED_SEEDS);
    await seedFolder(ruled, RULED_SEEDS, BENCH_RULES);
    const servers = [bench.keep(await startBerth(plain)), bench.keep(await startBerth(ruled))] as const;
    const verdicts = await compareRules(bench, ...servers);
    await seedFolder(changed, [CHANGED_SEED]);
    const store = await openBenchFolder(changed, true);
    try {
      return [...verdicts, await waitForChange(store)];
    } finally {
      await store.close();
    }
  },
};
