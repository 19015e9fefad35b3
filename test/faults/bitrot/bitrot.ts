import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRandom } from '../../support/random.ts';
import { temporaryFolder } from '../../support/server-process.ts';
import type { Fault, Findings, Life, Order } from '../door/fault.ts';
import { type Bit, chooseAnyBit, chooseInRows } from './choose-bit.ts';
import { copyFolder, type DataImage, makeImage } from './data-image.ts';
import { type Examined, examineData, findDifferences, isFoundByExamination } from './examine-data.ts';
import { examineOther } from './examine-others.ts';

/** What came of a flipped bit, in the order in which it is noticed. */
const OUTCOMES = [
  'refused at start or restore',
  'reported at start, server runs',
  'reported by doctor or audit verify',
  'no effect',
  'not protected',
  'unnoticed',
] as const;

interface Flipped {
  readonly outcome: (typeof OUTCOMES)[number];
  /** What differs: columns, answers, or the file. */
  readonly places: readonly string[];
}

/** By file, and column where it is a database: why nobody can know that it has changed. */
const UNPROTECTED: Readonly<Record<string, string>> = {
  'berth.yaml': 'a person writes it; "berth config" shows what is in force',
  'tls.crt':
    'a certificate whose issuer is not in the file can only be checked by clients, and they refuse it',
  'rules.yaml': 'a person writes it; a change is applied as if it were meant, and logged with its difference',
};

/** Says what to do, or at least what cannot be used. */
const NAMES_ITS_REASON =
  /berth\.db|master key|master\.key|sealed secret|another version|newer Berth|by Berth/;

class BitFlipper {
  readonly #image: DataImage;
  readonly #folder: string;
  readonly #expected = new Map<string, Examined>();

  constructor(image: DataImage, life: Life) {
    this.#image = image;
    this.#folder = join(temporaryFolder(life), 'data');
  }

  /** `isChecked`: a control is not, and loses the checksums. */
  async flip(bit: Bit, isChecked = true): Promise<Flipped> {
    if (bit.folder === 'others') return this.#flipOther(bit);
    const expected = await this.#expect(bit.folder);
    this.#copy(bit.folder);
    if (!isChecked) rmSync(join(this.#folder, 'berth.db-sums'));
    flipBit(join(this.#folder, bit.file), bit);
    return judge(bit, expected, await examineData(this.#folder, this.#image.at));
  }

  /** What the files say that nobody has touched. */
  async #expect(folder: 'stopped' | 'crashed'): Promise<Examined> {
    const known = this.#expected.get(folder);
    if (known !== undefined) return known;
    this.#copy(folder);
    const expected = await examineData(this.#folder, this.#image.at);
    if (expected.refusal !== null || expected.notices.length > 0)
      throw new Error(`The untouched files are refused: ${expected.refusal} ${expected.notices}`);
    this.#expected.set(folder, expected);
    return expected;
  }

  #copy(folder: 'stopped' | 'crashed'): void {
    rmSync(this.#folder, { recursive: true, force: true });
    mkdirSync(this.#folder, { mode: 0o700 });
    copyFolder(this.#image.folders[folder], this.#folder);
  }

  #flipOther(bit: Bit): Flipped {
    const { others } = this.#image;
    rmSync(this.#folder, { recursive: true, force: true });
    cpSync(others, this.#folder, { recursive: true });
    flipBit(join(this.#folder, bit.file), bit);
    const read = examineOther(this.#folder, bit.file);
    if (read === null) return { outcome: 'refused at start or restore', places: [] };
    if (read === examineOther(others, bit.file)) return { outcome: 'no effect', places: [] };
    return unnoticed([bit.file]);
  }
}

function flipBit(file: string, { at, mask }: Bit): void {
  const bytes = readFileSync(file);
  bytes.writeUInt8(bytes.readUInt8(at) ^ mask, at);
  writeFileSync(file, bytes);
}

function judge(bit: Bit, expected: Examined, actual: Examined): Flipped {
  const { refusal, notices } = actual;
  if (refusal !== null) {
    if (NAMES_ITS_REASON.test(refusal)) return { outcome: 'refused at start or restore', places: [] };
    return { outcome: 'unnoticed', places: [`the refusal says nothing: ${refusal}`] };
  }
  if (notices.length > 0) return { outcome: 'reported at start, server runs', places: [] };
  const places = findDifferences(expected, actual);
  if (isFoundByExamination(expected, actual))
    return { outcome: 'reported by doctor or audit verify', places };
  return places.length === 0
    ? { outcome: 'no effect', places }
    : unnoticed(places.map((place) => `${bit.file}: ${place}`));
}

function unnoticed(places: readonly string[]): Flipped {
  const outcome = places.every((place) => place in UNPROTECTED) ? 'not protected' : 'unnoticed';
  return { outcome, places };
}

function describe({ folder, file, table, at, mask }: Bit, { places }: Flipped): string {
  const where = `byte ${at} ^ ${mask} of ${file}${table === null ? '' : ` (${table})`}, ${folder}`;
  return `${where}: ${places.slice(0, 5).join(', ')}`;
}

const BITS_PER_REPORT = 500;

async function flipAgainAndAgain({ count, seed, life, say }: Order): Promise<Findings> {
  const random = createRandom(seed);
  const image = await makeImage(life);
  const flipper = new BitFlipper(image, life);
  const choose = chooseAnyBit(image);
  const outcomes = new Map<string, number>();
  const unprotected = new Map<string, number>();
  const tables = new Set<string>();
  const violations: string[] = [];
  for (let done = 1; done <= count; done++) {
    const bit = choose(random);
    const flipped = await flipper.flip(bit);
    add(outcomes, flipped.outcome);
    if (bit.table !== null) tables.add(bit.table);
    if (flipped.outcome === 'unnoticed') violations.push(describe(bit, flipped));
    if (flipped.outcome === 'not protected') for (const place of flipped.places) add(unprotected, place);
    if (done % BITS_PER_REPORT === 0) say(`${done} bits, ${violations.length} violations`);
  }
  const counts = OUTCOMES.slice(0, -1).map((outcome) => [outcome, outcomes.get(outcome) ?? 0]);
  const reasons = Object.entries(UNPROTECTED).map(
    ([place, reason]) => [`not protected: ${place}`, `${unprotected.get(place) ?? 0} (${reason})`] as const,
  );
  const facts = {
    ...Object.fromEntries(counts),
    'tables and indexes hit': tables.size,
    ...Object.fromEntries(reasons),
  };
  return { count, facts, violations };
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Totals, licenses, credentials and the audit log. */
const PRECIOUS = ['account', 'audit_link', 'consumption_total', 'license', 'sealed_secret', 'token'];

async function flipWithoutSums({ count, seed, life, say }: Order) {
  const random = createRandom(seed);
  const image = await makeImage(life);
  const flipper = new BitFlipper(image, life);
  const choose = chooseInRows(image, PRECIOUS);
  let found = 0;
  const outcomes = new Map<string, number>();
  for (let done = 0; done < count; done++) {
    const { outcome } = await flipper.flip(choose(random), false);
    add(outcomes, outcome);
    if (outcome !== 'no effect') found += 1;
  }
  say(JSON.stringify(Object.fromEntries(outcomes)));
  return { count, found };
}

export const bitrot: Fault = {
  name: 'bitrot',
  promises: [],
  promise:
    'A bit that flips on the disk is refused or reported at the next start, or changes no row and no ' +
    'answer. Exceptions are the files that are listed as not protected.',
  unit: 'flipped bits',
  sizes: { small: 20, full: 5000 },
  run: flipAgainAndAgain,
  hasFound: [
    'Of 200 bits flipped in rows of licenses, totals, accounts, tokens and the audit log, 89 changed data ' +
      'unnoticed. Since then every page has a checksum.',
    'A flipped bit in the write-ahead log made SQLite silently drop every commit after it. Since then the ' +
      'next start reports it.',
    'A TLS certificate or key with a flipped bit was accepted. Since then a start checks the key, and each ' +
      'certificate whose issuer is in the file; only clients can check the others.',
    'When a start could not read a page, its error was only that some JSON could not be parsed.',
  ],
  controls: [
    {
      name: 'the checksums of the pages are thrown away',
      // It finds 93 of 100. Of 60, fewer than 42 are found once in 70 million runs.
      sizes: { small: 60, full: 200 },
      leastShare: 0.7,
      run: flipWithoutSums,
    },
  ],
};
