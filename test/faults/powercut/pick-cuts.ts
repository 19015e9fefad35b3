import { createRandom, pickNumber, pickOne } from '../../support/random.ts';
import type { Recording } from './recording.ts';

/** How many cuts are made right after a name or a length has changed, where files are. */
const SHARE_AT_NAMES = 0.5;
const AT_NAMES: readonly string[] = ['create', 'rename', 'link', 'unlink', 'truncate'];

/** Anywhere, and often where the names of files change: that is rare among thousands of writes. */
export function pickCuts({ record, from }: Recording, cuts: number, seed: number): readonly number[] {
  const random = createRandom(seed);
  const names = [...record.keys()]
    .slice(from)
    .filter((position) => AT_NAMES.includes(record[position]?.kind ?? ''));
  const share = Math.min(SHARE_AT_NAMES, names.length / 50);
  const pick = () => {
    if (random() >= share) return pickNumber(random, { from, to: record.length });
    return Math.min(record.length, pickOne(random, names) + pickNumber(random, { from: 1, to: 3 }));
  };
  return Array.from({ length: cuts }, pick).sort((a, b) => a - b);
}
