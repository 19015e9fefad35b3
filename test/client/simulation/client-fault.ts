import type { Fault } from '../../faults/door/fault.ts';
import { PYTHON, runPython } from '../python/python.ts';
import { playForSlot, type Tally } from './exclusion.ts';

/** Plays with this seed and the following ones. */
async function playMany(firstSeed: number, seeds: number): Promise<Tally> {
  const sum: Tally = { acquired: 0, lost: 0, restored: 0, released: 0 };
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    const tally = await playForSlot(seed);
    for (const key of Object.keys(sum) as (keyof Tally)[]) sum[key] += tally[key];
  }
  return sum;
}

/** Whoever holds a slot uses it to the very last moment, as their own clock tells. */
async function playWithoutMargin(firstSeed: number, seeds: number): Promise<boolean> {
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    const error = await playForSlot(seed, { fixedMs: 0, share: 0 }).then(
      () => null,
      (error: Error) => error,
    );
    if (error !== null && !/both use the slot/.test(error.message)) throw error;
    if (error !== null) return true;
  }
  return false;
}

const SEEDS_WITHOUT_MARGIN = 400;

export const client: Fault = {
  name: 'client',
  promises: [1],
  promise: 'Two clients never use one slot at the same time, in TypeScript or in Python.',
  unit: 'simulated games for a slot',
  sizes: { small: 60, full: 10_000 },
  async run({ count, seed, size }) {
    // The same games between two clients in Python, on the other core. The suite has them elsewhere.
    const isPython = size === 'full' && PYTHON !== null;
    const playing = isPython
      ? runPython(['-m', 'tests.simulation.storm', String(seed), String(count)])
      : null;
    const { acquired, released, lost, restored } = await playMany(seed, count);
    await playing;
    const isIdle = acquired <= count || released <= count || lost <= count / 2 || restored <= count / 10;
    const facts = { acquired, released, lost, restored, 'also in Python': isPython ? 'yes' : 'no' };
    return { count, facts, violations: isIdle ? ['too little has happened'] : [] };
  },
  controls: [
    {
      name: 'clients use a slot without a margin',
      sizes: { small: 1, full: 10 },
      leastShare: 0.9,
      async run({ count, seed }) {
        let found = 0;
        for (let index = 0; index < count; index++) {
          if (await playWithoutMargin(seed + index * SEEDS_WITHOUT_MARGIN, SEEDS_WITHOUT_MARGIN)) found += 1;
        }
        return { count, found };
      },
    },
  ],
};
