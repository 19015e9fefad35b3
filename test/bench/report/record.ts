import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Verdict } from '../scenarios.ts';
import { cellsOf, headingOf, markOf, type Report, type StoreKind } from './report.ts';

/** What was measured, where, and of which commit: `docs/performance.md` is made of these. */
export interface BenchRecord {
  readonly store: StoreKind;
  readonly machine: Report['machine'];
  readonly runs: number;
  /** Of the last run, as the console showed them, by the names of its columns. */
  readonly measurements: readonly Readonly<Record<string, string>>[];
  /** Of all runs. */
  readonly targets: readonly Target[];
}

interface Target {
  readonly target: string;
  /** From the lowest to the highest. */
  readonly measured: string;
  readonly mark: string;
}

const RECORDS = fileURLToPath(new URL('../record', import.meta.url));

const pathOf = (store: StoreKind) => `${RECORDS}/${store}.json`;

export function readRecord(store: StoreKind): BenchRecord {
  return JSON.parse(readFileSync(pathOf(store), 'utf8')) as BenchRecord;
}

export function writeRecord(runs: readonly Report[]): void {
  const record = makeRecord(runs);
  mkdirSync(RECORDS, { recursive: true });
  writeFileSync(pathOf(record.store), `${JSON.stringify(record, null, 2)}\n`);
}

export function makeRecord(runs: readonly Report[]): BenchRecord {
  const { store, machine, measurements, verdicts } = runs.at(-1) as Report;
  const names = headingOf(store);
  return {
    store,
    machine,
    runs: runs.length,
    measurements: measurements.map((measurement) => {
      const cells = cellsOf(store, measurement);
      return Object.fromEntries(names.map((name, index) => [name, cells[index] as string]));
    }),
    targets: verdicts.map(({ target }) => joinVerdicts(runs, target)),
  };
}

function joinVerdicts(runs: readonly Report[], target: string): Target {
  const found = runs.flatMap(({ verdicts }) => verdicts.filter((one) => one.target === target));
  const marks = new Set(found.map(markOf));
  const mark =
    marks.size === 1 ? [...marks].join('') : `met in ${found.filter(isMet).length} of ${found.length}`;
  return { target, measured: rangeOf(found.map(({ measured }) => measured)), mark };
}

function isMet(verdict: Verdict): boolean {
  return verdict.isMet === true;
}

/** The lowest and the highest of the first numbers, such as "57.1–183.3 ms". */
function rangeOf(measured: readonly string[]): string {
  const parts = measured.map((text) => /^(\D*)([\d.]+)([^,;:(]*)/.exec(text));
  const values = parts.map((part) => part?.[2] ?? '').sort((a, b) => Number(a) - Number(b));
  const [, before = '', , after = ''] = parts[0] ?? [];
  if (values.includes('')) return measured[0] ?? '';
  return `${before}${[...new Set([values[0], values.at(-1)])].join('–')}${after}`.trimEnd();
}
