import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeUpSeed } from '../support/random.ts';
import { readWholeNumber } from '../support/whole-number.ts';
import { drawMutants, type Mutant } from './mutants.ts';
import { type Result, writeRecord } from './record.ts';
import { TestBench } from './test-bench.ts';
import { TestFiles } from './test-files.ts';
import { Verdicts } from './verdicts.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/berth-mutants', import.meta.url));
const OPTIONS = {
  count: { type: 'string', default: '1000' },
  seed: { type: 'string' },
  /** Only sources whose path contains it. */
  only: { type: 'string', default: '' },
  /** Takes those for found that an earlier run has found. */
  again: { type: 'boolean', default: false },
  /** Writes `test/mutants/record.json`. */
  record: { type: 'boolean', default: false },
} as const;

/** A mutant that loops forever takes longer than the tests ever do. */
const MIN_LIMIT_MS = 30_000;
const LIMIT_TIMES = 8;

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function judge(bench: TestBench, mutant: Mutant, tests: TestFiles): Promise<Result> {
  const chosen = tests.choose(mutant);
  if (chosen.length === 0) return { mutant, verdict: 'not covered', by: null };
  return bench.change(mutant.file, mutant.text, async () => {
    for (const { file, patterns, cpuMs } of chosen) {
      const { verdict } = await bench.runTests({
        file,
        patterns,
        limitMs: MIN_LIMIT_MS + cpuMs * LIMIT_TIMES,
      });
      if (verdict === 'passed') continue;
      tests.noteFind(mutant, file);
      return { mutant, verdict: verdict === 'failed' ? 'found' : 'timeout', by: file };
    }
    return { mutant, verdict: 'survived', by: null };
  });
}

async function judgeAll(
  benches: readonly TestBench[],
  mutants: readonly Mutant[],
  { tests, verdicts }: { readonly tests: TestFiles; readonly verdicts: Verdicts },
): Promise<Result[]> {
  const waiting: Mutant[] = [];
  const results: Result[] = [];
  for (const mutant of mutants) {
    const known = verdicts.find(mutant);
    if (known === undefined) waiting.push(mutant);
    else results.push(known);
  }
  const work = async (bench: TestBench): Promise<void> => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const result = await judge(bench, mutant, tests);
      results.push(result);
      verdicts.keep(result);
      const { verdict, by } = result;
      print(
        `${results.length} ${verdict}: ${mutant.file}:${mutant.line}: ${mutant.shown}${by ? ` (${by})` : ''}`,
      );
    }
  };
  await Promise.all(benches.map(work));
  return results;
}

async function main(life: { after(work: () => void): void }): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS });
  const seed = values.seed === undefined ? makeUpSeed() : readWholeNumber('--seed', values.seed);
  const count = readWholeNumber('--count', values.count, 1);
  const startedMs = performance.now();
  print(`# mutants: ${count}, seed ${seed}`);
  const sample = drawMutants(ROOT, { count, seed, only: values.only });
  print(`${sample.possible} possible, ${sample.rejected} drawn that the compiler rejects`);
  const benches = Array.from({ length: availableParallelism() }, () => new TestBench(life));
  const tests = await TestFiles.try(benches, CACHE, print);
  print(`${tests.count} parts of the tests in ${secondsSince(startedMs)} s`);
  const results = await judgeAll(benches, sample.mutants, {
    tests,
    verdicts: new Verdicts(CACHE, values.again),
  });
  const seconds = secondsSince(startedMs);
  for (const verdict of ['found', 'timeout', 'survived', 'not covered'] as const) {
    print(`${verdict}: ${results.filter((result) => result.verdict === verdict).length}`);
  }
  print(`${seconds} s`);
  if (values.record)
    print(`recorded in ${writeRecord({ seed, isAgain: values.again, sample, results, seconds })}`);
}

function secondsSince(startedMs: number): number {
  return Math.round((performance.now() - startedMs) / 1000);
}

/** Copies of the project are removed, also if somebody stops the run. */
const ends: (() => void)[] = [];
process.on('exit', () => {
  for (const end of ends.reverse()) end();
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
await main({ after: (work) => ends.push(work) });
