import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Change } from './mutators.ts';
import { applyChange, TypedSources } from './typed-sources.ts';

export const SOURCES = ['packages/server/src/core/**/*.ts', 'packages/server/src/store/engine/**/*.ts'];
const MAX_SHOWN = 100;

/** A source with one mistake in it. */
export interface Mutant {
  /** What it is by, whatever changes elsewhere in its source. */
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly change: Change;
  /** The whole source with the mistake. */
  readonly text: string;
  /** The mistake as people read it. */
  readonly shown: string;
}

export interface Sample {
  readonly mutants: readonly Mutant[];
  /** How many there are altogether. */
  readonly possible: number;
  /** How many were drawn that the compiler finds. They are no part of the sample. */
  readonly rejected: number;
}

/** Draws mutants that compile. A change of the sources changes only the part of the sample that is there. */
export function drawMutants(root: string, { count, seed, only }: Draw): Sample {
  const sources = new TypedSources(root);
  try {
    const files = globSync(SOURCES, { cwd: root }).filter((file) => file.includes(only));
    const all = files.flatMap((file) => describeMutants(root, file, sources.listChanges(join(root, file))));
    const mutants: Mutant[] = [];
    let rejected = 0;
    for (const mutant of shuffle(all, seed)) {
      if (mutants.length === count) break;
      if (sources.rejects(join(root, mutant.file), mutant.change)) rejected++;
      else mutants.push(mutant);
    }
    return { mutants, possible: all.length, rejected };
  } finally {
    sources.close();
  }
}

interface Draw {
  readonly count: number;
  readonly seed: number;
  /** A part of the path. */
  readonly only: string;
}

function shuffle(mutants: readonly Mutant[], seed: number): Mutant[] {
  return mutants
    .map((mutant) => ({ mutant, place: hash(`${seed} ${mutant.name}`) }))
    .sort((one, other) => (one.place < other.place ? -1 : 1))
    .map(({ mutant }) => mutant);
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function describeMutants(root: string, file: string, changes: readonly Change[]): Mutant[] {
  const source = readFileSync(join(root, file), 'utf8');
  const seen = new Map<string, number>();
  return changes.map((change) => {
    const line = source.slice(0, change.start).split('\n').length;
    const before = source.slice(change.start, change.end);
    const inLine = source.split('\n')[line - 1]?.trim();
    const key = hash(`${before} ${change.text} ${inLine}`).slice(0, 8);
    seen.set(key, (seen.get(key) ?? 0) + 1);
    const name = `${file} ${key} ${seen.get(key)}`;
    const shown = `${shorten(before)} → ${shorten(change.text)}`;
    return { name, file, line, change, text: applyChange(source, change), shown };
  });
}

function shorten(text: string): string {
  const inLine = text.replace(/\s+/g, ' ');
  return inLine.length > MAX_SHOWN ? `${inLine.slice(0, MAX_SHOWN)}…` : inLine;
}
