import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { readCommit } from '../../support/read-commit.ts';
import type { Choice, Outcome } from './carry-out.ts';
import type { Fault, Size } from './fault.ts';

/** What was run, where, and what came of it: `docs/reliability.md` is made of these. */
export interface FaultRecord {
  readonly name: string;
  readonly command: string;
  readonly size: Size;
  readonly seed: number;
  readonly commit: string;
  readonly day: string;
  readonly machine: string;
  readonly seconds: number;
  readonly count: number;
  readonly facts: Readonly<Record<string, number | string>>;
  readonly violations: number;
  readonly controls: Outcome['controls'];
}

export const RECORDS = fileURLToPath(new URL('../records', import.meta.url));

export function makeRecord({ name }: Fault, { size, seed, count }: Choice, outcome: Outcome): FaultRecord {
  const flags = [
    ...(size === 'full' ? [] : ['--size', size]),
    ...(count === undefined ? [] : ['--count', String(count)]),
    ...['--seed', String(seed)],
  ];
  return {
    name,
    command: ['npm run faults --', name, ...flags].join(' '),
    size,
    seed,
    commit: readCommit(),
    day: new Date().toISOString().slice(0, 10),
    machine: describeMachine(),
    seconds: outcome.seconds,
    count: outcome.count,
    facts: outcome.facts,
    violations: outcome.violations.length,
    controls: outcome.controls,
  };
}

export function writeRecord(record: FaultRecord): string {
  mkdirSync(RECORDS, { recursive: true });
  const path = `${RECORDS}/${record.name}.json`;
  writeFileSync(path, `${JSON.stringify(record, null, 2)}\n`);
  return path;
}

export function describeMachine(): string {
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  const model = cpus()[0]?.model.trim() ?? process.arch;
  const system = `${process.platform} ${release()}, Node ${process.version}`;
  return `${availableParallelism()} cores (${model}), ${gigabytes} GB, ${system}`;
}
