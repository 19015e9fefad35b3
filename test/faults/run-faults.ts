import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildProgram } from '../runner/build-program.ts';
import { makeUpSeed } from '../support/random.ts';
import { readWholeNumber } from '../support/whole-number.ts';
import { carryOut } from './door/carry-out.ts';
import type { Fault, Size } from './door/fault.ts';
import { findMissing } from './door/needs.ts';
import { makeRecord, writeRecord } from './door/record.ts';
import { RESULT_HEAD, writeResultRow } from './door/result-row.ts';
import { FAULTS } from './faults.ts';

const MAX_SHOWN = 50;
const OPTIONS = {
  size: { type: 'string', default: 'full' },
  seed: { type: 'string' },
  count: { type: 'string' },
  /** Writes what came of it to `test/faults/records`. */
  record: { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
} as const;

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function runOne(fault: Fault, values: Values): Promise<boolean> {
  const missing = await findMissing(fault);
  if (missing !== null) throw new Error(`${fault.name} needs ${missing.name} (${missing.advice}).`);
  const size = values.size as Size;
  const { seed = makeUpSeed(), count } = readNumbers(values);
  print(`# ${fault.name}: ${count ?? fault.sizes[size]} ${fault.unit}, seed ${seed}`);
  const choice = { size, seed, count, say: print };
  const outcome = await carryOut(fault, choice);
  print(`${outcome.count} ${fault.unit} in ${outcome.seconds} s`);
  for (const [name, value] of Object.entries(outcome.facts)) print(`${name}: ${value}`);
  for (const { name, found, count } of outcome.controls) print(`found ${found} of ${count}: ${name}`);
  print(`violations ${outcome.violations.length}`);
  for (const violation of outcome.violations.slice(0, MAX_SHOWN)) print(`  ${violation}`);
  const record = makeRecord(fault, choice, outcome);
  print(`as docs/reliability.md shows it:\n${[...RESULT_HEAD, writeResultRow(fault, record)].join('\n')}`);
  if (values.record) print(`recorded in ${writeRecord(record)}`);
  return outcome.isFine;
}

function readNumbers({ seed, count }: Values) {
  return {
    seed: seed === undefined ? undefined : readWholeNumber('--seed', seed),
    count: count === undefined ? undefined : readWholeNumber('--count', count, 1),
  };
}

/** Each in a process of its own. */
async function runMany(faults: readonly Fault[], flags: readonly string[]): Promise<boolean> {
  const results: string[] = [];
  for (const { name } of faults) {
    const words = [fileURLToPath(import.meta.url), name, ...flags];
    const startedMs = performance.now();
    const [code] = await once(spawn(process.execPath, words, { stdio: 'inherit' }), 'exit');
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    results.push(`${code === 0 ? 'passed' : 'FAILED'}  ${name} in ${seconds} s`);
  }
  print(`\n${results.join('\n')}`);
  return results.every((result) => result.startsWith('passed'));
}

function list(): boolean {
  for (const { name, promise, unit, sizes } of FAULTS) {
    print(`${name.padEnd(18)} ${`${sizes.full} ${unit}`.padEnd(26)} ${promise}`);
  }
  return true;
}

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'];

async function main(): Promise<boolean> {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  const unknown = positionals.filter((name) => !FAULTS.some((fault) => fault.name === name));
  if (unknown.length > 0)
    throw new Error(`There is no ${unknown.join(', ')}. See "npm run faults -- --list".`);
  if (values.size !== 'small' && values.size !== 'full') throw new Error('--size is small or full.');
  readNumbers(values);
  if (values.list) return list();
  const chosen = FAULTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  if (process.env.TEST_PROGRAM === undefined) Object.assign(process.env, await buildProgram());
  // All clients of a storm have one address.
  process.env.BERTH_LIMITS_NEW_SLOTS_PER_HOUR = '0';
  const [only] = chosen;
  if (chosen.length === 1 && only !== undefined) return runOne(only, values);
  return runMany(
    chosen,
    process.argv.slice(2).filter((word) => !positionals.includes(word)),
  );
}

try {
  if (!(await main())) process.exitCode = 1;
} catch (error) {
  print((error as Error).message);
  process.exitCode = 1;
}
