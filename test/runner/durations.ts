import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

/** Estimated seconds of a file that has not run here yet. Unit tests that are not in a group are long. */
const GUESSES: readonly (readonly [RegExp, number])[] = [
  [/\/test\/(?:browser|client\/(?:python|real))\//, 45],
  [/\/group-|\/postgres-store\./, 40],
  [/\/test\/(?:faults|fuzz|model)\/|\/packages\//, 15],
  [/\/test\/(?:browser|cli|client|docs|e2e)\//, 10],
];

/** The last duration of each test file, in a file that may be missing. */
export class Durations {
  readonly #file: string;
  readonly #milliseconds: Record<string, number>;
  readonly #startedMs = new Map<string, number>();

  constructor(file: string) {
    this.#file = file;
    this.#milliseconds = readDurations(file);
  }

  #estimate(path: string): number {
    const guess = GUESSES.find(([pattern]) => pattern.test(path))?.[1] ?? 1;
    return this.#milliseconds[path] ?? guess * 1000;
  }

  /** Longest first, so that none of them runs alone at the end while other cores are idle. */
  sort(paths: readonly string[]): string[] {
    return paths.toSorted((a, b) => this.#estimate(b) - this.#estimate(a) || (a < b ? -1 : 1));
  }

  /** A file is an event without an `entryFile`. */
  record(event: TestEvent): void {
    if (event.type !== 'test:dequeue' && event.type !== 'test:complete') return;
    const { name, entryFile } = event.data;
    if (entryFile !== undefined) return;
    const startedMs = this.#startedMs.get(name);
    if (event.type === 'test:dequeue') this.#startedMs.set(name, performance.now());
    else if (startedMs !== undefined) this.#milliseconds[name] = Math.round(performance.now() - startedMs);
  }

  save(): void {
    try {
      mkdirSync(dirname(this.#file), { recursive: true });
      writeFileSync(this.#file, `${JSON.stringify(this.#milliseconds, null, 1)}\n`);
    } catch {
      // The next run uses estimates.
    }
  }
}

function readDurations(file: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}
