import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Mutant } from './mutants.ts';
import type { Result } from './record.ts';

type Kept = Pick<Result, 'verdict' | 'by'> & { readonly name: string };

/** The verdicts of earlier runs. While only tests are added, what was found need not be found again. */
export class Verdicts {
  readonly #file: string;
  readonly #found = new Map<string, Kept>();

  constructor(folder: string, isAgain: boolean) {
    this.#file = join(folder, 'verdicts.jsonl');
    if (!isAgain || !existsSync(this.#file)) return;
    for (const line of readFileSync(this.#file, 'utf8').trim().split('\n')) {
      const kept = JSON.parse(line) as Kept;
      if (kept.by !== null) this.#found.set(kept.name, kept);
    }
  }

  find(mutant: Mutant): Result | undefined {
    const kept = this.#found.get(mutant.name);
    return kept && { mutant, verdict: kept.verdict, by: kept.by };
  }

  keep({ mutant: { name }, verdict, by }: Result): void {
    appendFileSync(this.#file, `${JSON.stringify({ name, verdict, by } satisfies Kept)}\n`);
  }
}
