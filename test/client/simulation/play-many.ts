import { playForSlot, type Tally } from './exclusion.ts';

/** Plays with this seed and the following ones. */
export async function playMany(firstSeed: number, seeds: number): Promise<Tally> {
  const sum: Tally = { acquired: 0, lost: 0, restored: 0, released: 0 };
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    const tally = await playForSlot(seed);
    for (const key of Object.keys(sum) as (keyof Tally)[]) sum[key] += tally[key];
  }
  return sum;
}
