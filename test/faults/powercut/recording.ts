import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import type { Program } from '../../support/program.ts';
import { seedLicenses, temporaryFolder } from '../../support/server-process.ts';
import type { Life } from '../door/fault.ts';
import { ANYTHING, type Book, type Expected } from './book.ts';
import { Disk, findUnrecorded } from './disk.ts';
import { type Image, takeImage, writeImage } from './image.ts';
import { type Happening, readRecord } from './record.ts';
import { addKeeper } from './second-factor.ts';
import { Site } from './site.ts';
import { LICENSES } from './steps.ts';

/** A recorded server, and what it acknowledged. */
export interface Recording {
  readonly image: Image;
  readonly record: readonly Happening[];
  readonly book: Book;
  /** The first position at which the power may be cut. */
  readonly from: number;
  /** What may be found after a cut: one of these. `null`: anything that a server starts with. */
  expectAt(cut: number): readonly Expected[] | null;
}

export interface Play {
  readonly seed: number;
  /** How many changes are acknowledged. */
  readonly changes: number;
  /** How often the server is started again, where it is; how many backups there are. */
  readonly lives: number;
  readonly program: Program;
  readonly life: Life;
}

interface RecordOptions {
  readonly args?: readonly string[];
  /** Makes what is there before anything is recorded. */
  prepare?(site: Site): Promise<void>;
}

/** Records what `run` does, and makes sure that the record tells all of it. */
export async function record(
  play: Play,
  { prepare = seed, ...options }: RecordOptions,
  run: (site: Site) => Promise<Book>,
): Promise<Recording> {
  const folder = temporaryFolder(play.life);
  const site = new Site(folder, { program: play.program, ...options });
  mkdirSync(site.root, { mode: 0o700 });
  await prepare(site);
  const image = takeImage(site.root);
  const book = await run(site).finally(() => site.stop('SIGKILL'));
  const happenings = readRecord(readFileSync(site.log), site.root);
  const disk = new Disk(image);
  for (const happening of happenings) disk.apply(happening);
  const problem = findUnrecorded(disk.root, site.root);
  if (problem !== null) throw new Error(`The record is incomplete: ${problem}.`);
  // Thousands of cuts need dozens of recordings.
  rmSync(folder, { recursive: true });
  book.locate(happenings);
  const expectAt = (cut: number) => [atFirst(book.expectAt(cut))];
  return { image, record: happenings, book, from: 0, expectAt };
}

let seeded: Image | undefined;

/** A folder with licenses and an account. It is made once, and written again for others. */
export async function seed({ data }: Site): Promise<void> {
  if (seeded !== undefined) return writeImage(seeded, data);
  await seedLicenses(data, LICENSES);
  await addKeeper(data);
  seeded = takeImage(data);
}

/** A server makes its key for grants when somebody asks for it first, which is before the first change. */
function atFirst(expected: Expected): Expected {
  if (expected.acknowledged > 0) return expected;
  return { ...expected, values: { ...expected.values, 'grant key': [ANYTHING] } };
}
