import { createRandom, pickNumber, pickOne } from '../../support/random.ts';
import { Disk } from './disk.ts';
import type { Recording } from './recording.ts';

/** How many cuts are made where the names of files are changing, at most. */
const MOST_AT_NAMES = 0.5;
/** With fewer such places, the share is smaller. */
const PLACES = 50;

/** Anywhere, and often where the names of files are changing: that is rare among thousands of writes. */
export function pickCuts(recording: Recording, cuts: number, seed: number): readonly number[] {
  const { record, from } = recording;
  const random = createRandom(seed);
  const places = listPlaces(recording);
  const share = Math.min(MOST_AT_NAMES, places.length / PLACES);
  const pick = () =>
    random() < share ? pickOne(random, places) : pickNumber(random, { from, to: record.length });
  return Array.from({ length: cuts }, pick).sort((a, b) => a - b);
}

/** Where names are not synced; where several are not, their order matters, so these count more. */
function listPlaces({ image, record, from }: Recording): readonly number[] {
  const disk = new Disk(image);
  const places: number[] = [];
  let before = 0;
  for (const [position, happening] of record.entries()) {
    if (happening.kind === 'write' || happening.kind === 'truncate') continue;
    disk.apply(happening);
    const open = disk.countOpenNames();
    const weight = open > before && position >= from ? Math.min(open, 4) ** 2 : 0;
    places.push(...Array<number>(weight).fill(position + 1));
    before = open;
  }
  return places;
}
