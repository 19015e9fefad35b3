import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describeMachine } from '../faults/door/record.ts';
import { readCommit } from '../support/read-commit.ts';
import type { Mutant, Sample } from './mutants.ts';

export interface Result {
  readonly mutant: Mutant;
  readonly verdict: 'found' | 'timeout' | 'survived' | 'not covered';
  /** The test file that found it. */
  readonly by: string | null;
}

/** What was run, where, and what came of it: `docs/reliability.md` is made of it. */
interface MutantRecord {
  readonly command: string;
  readonly seed: number;
  readonly commit: string;
  readonly day: string;
  readonly machine: string;
  readonly seconds: number;
  /** How many mutants there are altogether, and how many of those drawn the compiler rejects. */
  readonly possible: number;
  readonly rejected: number;
  readonly count: number;
  /** With those whose tests did not end. */
  readonly found: number;
  readonly timeouts: number;
  readonly notCovered: number;
  /** With those that are not covered. */
  readonly survivors: readonly Survivor[];
}

interface Survivor {
  readonly file: string;
  readonly line: number;
  readonly change: string;
  readonly covered: boolean;
  /** Written by hand: why it is equivalent, or why we accept it. */
  readonly reason: string;
}

const RECORD = fileURLToPath(new URL('record.json', import.meta.url));

interface Run {
  readonly seed: number;
  readonly isAgain: boolean;
  readonly sample: Sample;
  readonly results: readonly Result[];
  readonly seconds: number;
}

/** Reasons that were written for the same survivors stay. */
export function writeRecord({ seed, isAgain, sample, results, seconds }: Run): string {
  const count = (verdict: Result['verdict']) => results.filter((one) => one.verdict === verdict).length;
  const record: MutantRecord = {
    command: `npm run mutants -- --count ${results.length} --seed ${seed}${isAgain ? ' --again' : ''}`,
    seed,
    commit: readCommit(),
    day: new Date().toISOString().slice(0, 10),
    machine: describeMachine(),
    seconds,
    possible: sample.possible,
    rejected: sample.rejected,
    count: results.length,
    found: count('found') + count('timeout'),
    timeouts: count('timeout'),
    notCovered: count('not covered'),
    survivors: describeSurvivors(results, readReasons()),
  };
  writeFileSync(RECORD, `${JSON.stringify(record, null, 2)}\n`);
  return RECORD;
}

function describeSurvivors(results: readonly Result[], reasons: ReadonlyMap<string, string>): Survivor[] {
  return results
    .filter(({ verdict }) => verdict === 'survived' || verdict === 'not covered')
    .map(({ mutant: { file, line, shown: change }, verdict }) => {
      const covered = verdict === 'survived';
      return { file, line, change, covered, reason: reasons.get(nameOf({ file, change })) ?? '' };
    })
    .sort((one, other) => one.file.localeCompare(other.file) || one.line - other.line);
}

/** `null`: nothing was recorded yet. */
export function readMutants(): MutantRecord | null {
  return existsSync(RECORD) ? (JSON.parse(readFileSync(RECORD, 'utf8')) as MutantRecord) : null;
}

function readReasons(): Map<string, string> {
  const survivors = readMutants()?.survivors ?? [];
  return new Map(survivors.map((survivor) => [nameOf(survivor), survivor.reason]));
}

function nameOf({ file, change }: { readonly file: string; readonly change: string }): string {
  return `${file} ${change}`;
}
