import {
  type BenchRun,
  type Contested,
  cpuRatio,
  type LoadWish,
  manyTurns,
  rateRatio,
} from '../bench-run.ts';
import { churnOfSize, renewalOf, SIZES } from '../loads.ts';
import type { Scenario, Verdict } from '../scenarios.ts';

/** How much more a large license may cost than one with 10 slots. */
const MAX_COST = 1.2;

/** With fewer turns, noise exceeds what the sizes differ by. */
const TURNS = 31;

/** Licenses of all sizes by turns. */
async function compareSizes(
  bench: BenchRun,
  what: string,
  connections: number,
  wishOf: (size: (typeof SIZES)[number], connections: number) => LoadWish,
): Promise<readonly Verdict[]> {
  const servers = [await bench.berth()];
  const wishes = SIZES.map((size) => wishOf(size, connections));
  const [small, ...large] = await bench.takeTurns(
    wishes.map((wish) => ({ servers, wish })),
    manyTurns(bench.seconds, TURNS),
  );
  return large.map((contested, index) => {
    const cpu = cpuRatio(contested, small as Contested);
    const rate = 1 / rateRatio(contested, small as Contested).middle;
    const slots = SIZES[index + 1]?.slots.toLocaleString('en');
    return {
      target: `${what}, ${slots} slots, ${connections} connections: at most ${MAX_COST} × the cost with 10`,
      measured: `${cpu === null ? '' : `CPU ${cpu.toFixed(2)} ×, `}rate ${rate.toFixed(2)} ×`,
      isMet: Math.max(cpu ?? 0, rate) <= MAX_COST,
    };
  });
}

export const slots: Scenario = {
  name: 'slots',
  about: 'renewals, and register and unregister by turns, on licenses with 10, 50,000 and 100,000 slots',
  async run(bench) {
    const verdicts: Verdict[] = [];
    for (const connections of [64, 16]) {
      verdicts.push(...(await compareSizes(bench, 'heartbeat', connections, renewalOf)));
      verdicts.push(...(await compareSizes(bench, 'register + unregister', connections, churnOfSize)));
    }
    return verdicts;
  },
};
