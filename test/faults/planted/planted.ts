import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { CheckoutCopy } from '../../support/checkout-copy.ts';
import type { Fault, Findings, Order } from '../door/fault.ts';
import { PLANTED_BUGS, type PlantedBug } from './bugs.ts';

/** A fault may miss a bug by chance: it tries again with the next seed. */
export const TRIES = 3;

/** The text of a file with the bug in it. */
export function plant(text: string, { right, wrong, file }: PlantedBug): string {
  const parts = text.split(right);
  if (parts.length !== 2) throw new Error(`"${right}" stands in ${file} ${parts.length - 1} times.`);
  return parts.join(wrong);
}

/** Runs a fault in a copy of the project, and returns what it prints. */
async function runInCopy({ folder }: CheckoutCopy, words: readonly string[]): Promise<string> {
  const { TEST_PROGRAM: _, TEST_FILES: __, ...env } = process.env;
  const args = ['test/faults/run-faults.ts', ...words];
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  await once(child, 'close');
  return output;
}

/** The first thing that the fault objects to; `null` if it finds nothing. */
async function findBug(copy: CheckoutCopy, bug: PlantedBug, seed: number): Promise<string | null> {
  const text = copy.read(bug.file);
  copy.write(bug.file, plant(text, bug));
  try {
    for (let attempt = 0; attempt < TRIES; attempt++) {
      const count = bug.count === undefined ? [] : ['--count', String(bug.count)];
      const words = [bug.foundBy, '--size', 'small', '--seed', String(seed + attempt), ...count];
      const output = await runInCopy(copy, words);
      const found = /^violations [1-9]\d*\n {2}(.*)$/m.exec(output)?.[1];
      if (found !== undefined) return found;
      if (!/^violations 0$/m.test(output)) throw new Error(`${words.join(' ')} did not run:\n${output}`);
    }
    return null;
  } finally {
    copy.write(bug.file, text);
  }
}

const SHOWN = 200;

async function plantAll({ count, seed, life, say }: Order): Promise<Findings> {
  const copy = new CheckoutCopy(life);
  const facts: Record<string, string> = {};
  const violations: string[] = [];
  const bugs = PLANTED_BUGS.slice(0, count);
  for (const bug of bugs) {
    const found = await findBug(copy, bug, seed);
    say(`${bug.foundBy}: ${bug.kind} ${found ?? 'NOT FOUND'}`);
    if (found === null) violations.push(`${bug.foundBy} does not find: ${bug.kind}`);
    else facts[bug.kind] = `${bug.foundBy}: ${found.slice(0, SHOWN)}`;
  }
  return { count: bugs.length, facts, violations };
}

export const planted: Fault = {
  name: 'planted',
  promises: [],
  promise: 'A bug that is put in on purpose is found.',
  unit: 'bugs',
  sizes: { small: 1, full: PLANTED_BUGS.length },
  run: plantAll,
};
