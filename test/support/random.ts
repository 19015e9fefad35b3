import { readWholeNumber } from './whole-number.ts';

/** A sequence of numbers in [0, 1) that depends only on the seed (mulberry32). */
export type Random = () => number;

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** An integer from `from` to `to`, inclusive. */
export function pickNumber(random: Random, { from, to }: { from: number; to: number }): number {
  return from + Math.floor(random() * (to - from + 1));
}

export function pickOne<T>(random: Random, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)] as T;
}

/** A seed for a run without a given one. It is printed, so that the run can be repeated. */
export function makeUpSeed(): number {
  return Math.floor(Math.random() * 2 ** 31);
}

/** `BERTH_SEED` repeats a run of tests. */
export function readSeed(): number {
  const text = process.env.BERTH_SEED;
  return text === undefined ? makeUpSeed() : readWholeNumber('BERTH_SEED', text);
}
