import { parseArgs } from 'node:util';
import { makeUpSeed } from '../../support/random.ts';
import { startPostgres, type TestPostgres } from '../../support/stores/postgres.ts';
import type { FleetLife } from './fleet.ts';

/** What a run came to, in lines to print. */
interface HandReport {
  readonly lines: readonly string[];
  readonly violations: readonly string[];
}

/** What a person may say on the command line. */
interface HandOptions {
  readonly seed: number;
  readonly cycles: number;
  readonly seconds: number;
}

const MAX_SHOWN = 50;

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Runs one of the storms on a database of its own, clears up, and prints what came of it. */
export async function runByHand(
  defaults: { readonly cycles?: number; readonly seconds?: number },
  run: (life: FleetLife, postgres: TestPostgres, options: HandOptions) => Promise<HandReport>,
): Promise<number> {
  const { values } = parseArgs({
    options: {
      cycles: { type: 'string', default: String(defaults.cycles ?? 1) },
      seconds: { type: 'string', default: String(defaults.seconds ?? 10) },
      seed: { type: 'string', default: String(makeUpSeed()) },
    },
  });
  const options = {
    seed: Number(values.seed),
    cycles: Number(values.cycles),
    seconds: Number(values.seconds),
  };
  print(`seed ${options.seed}`);
  const postgres = await startPostgres();
  const ends: (() => Promise<void>)[] = [];
  try {
    const report = await run({ after: (work) => ends.push(work) }, postgres, options);
    for (const line of report.lines) print(line);
    print(`violations ${report.violations.length}`);
    for (const violation of report.violations.slice(0, MAX_SHOWN)) print(`  ${violation}`);
    return report.violations.length === 0 ? 0 : 1;
  } finally {
    for (const end of ends) await end();
    await postgres.end();
  }
}
