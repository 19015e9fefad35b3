import { arch, cpus, platform, release, totalmem } from 'node:os';
import { readCommit } from '../../support/read-commit.ts';
import { describeCores } from '../cores.ts';
import { cpuShareOf, isGeneratorSaturated, type Measurement, shareOf } from '../measurement.ts';
import type { Verdict } from '../scenarios.ts';

/** Where the server under load keeps its data. */
export type StoreKind = 'sqlite' | 'postgres';

/** Everything that one run found. */
export interface Report {
  readonly store: StoreKind;
  readonly machine: Readonly<Record<string, string>>;
  readonly measurements: readonly Measurement[];
  readonly notes: readonly { readonly name: string; readonly value: string }[];
  readonly verdicts: readonly Verdict[];
}

export function describeMachine(seconds: number): Report['machine'] {
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: readCommit(),
    node: process.version,
    system: `${platform()} ${release()}, ${arch()}`,
    processor: cpus()[0]?.model ?? 'unknown',
    cores: describeCores(),
    memory: `${Math.round(totalmem() / 1024 ** 3)} GB`,
    seconds: `${seconds} for each measurement`,
  };
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

function wholeOrNothing(value: number | null): string {
  return value === null ? '' : whole(value);
}

function percentOf(share: number | null): string {
  return share === null ? '' : `${(share * 100).toFixed(0)} %`;
}

interface Column {
  readonly name: string;
  readonly width: number;
  cell(measurement: Measurement): string;
}

const SCENARIO: Column = { name: 'scenario', width: 66, cell: ({ label }) => label };
const RATE: Column = { name: 'requests/s', width: 10, cell: ({ rate }) => whole(rate) };
const CONSTANT: readonly Column[] = [
  { name: 'node:http/s', width: 11, cell: ({ constant }) => (constant === null ? '' : whole(constant.rate)) },
  { name: 'share', width: 6, cell: (measurement) => percentOf(shareOf(measurement)) },
];
const CPU: Column = { name: 'CPU µs', width: 6, cell: ({ cpuMicros }) => wholeOrNothing(cpuMicros) };
const CPU_SHARE: Column = {
  name: 'CPU share',
  width: 9,
  cell: (measurement) => percentOf(cpuShareOf(measurement)),
};
const DATABASE_CPU: Column = {
  name: 'database CPU µs',
  width: 15,
  cell: ({ databaseMicros }) => wholeOrNothing(databaseMicros),
};
const REST: readonly Column[] = [
  { name: 'p50 ms', width: 7, cell: ({ p50 }) => p50.toFixed(1) },
  { name: 'p99 ms', width: 7, cell: ({ p99 }) => p99.toFixed(1) },
  { name: 'p99.9 ms', width: 8, cell: ({ p999 }) => p999.toFixed(1) },
  { name: 'max ms', width: 7, cell: ({ max }) => max.toFixed(0) },
  {
    name: 'generator',
    width: 10,
    cell: (one) => `${percentOf(one.generatorShare)}${isGeneratorSaturated(one) ? ' full' : ''}`,
  },
  { name: 'others', width: 6, cell: ({ othersCores }) => othersCores?.toFixed(2) ?? '' },
  { name: 'errors', width: 6, cell: ({ errors }) => String(errors) },
];

/** With a database there is no constant beside a scenario: Berth is compared with itself. */
const COLUMNS: Readonly<Record<StoreKind, readonly Column[]>> = {
  sqlite: [SCENARIO, RATE, ...CONSTANT, CPU, CPU_SHARE, ...REST],
  postgres: [SCENARIO, RATE, CPU, DATABASE_CPU, ...REST],
};

function alignRow(store: StoreKind, cells: readonly string[]): string {
  const widths = COLUMNS[store].map(({ width }) => width);
  return cells
    .map((cell, index) => (index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0)))
    .join(' ');
}

export function headingOf(store: StoreKind): readonly string[] {
  return COLUMNS[store].map(({ name }) => name);
}

export function cellsOf(store: StoreKind, measurement: Measurement): readonly string[] {
  return COLUMNS[store].map(({ cell }) => cell(measurement));
}

export function formatHeading(store: StoreKind): string {
  return `${alignRow(store, headingOf(store))}\n`;
}

export function formatMeasurement(store: StoreKind, measurement: Measurement): string {
  const error = measurement.firstError;
  const lines = [alignRow(store, cellsOf(store, measurement)), `    ${formatHistogram(measurement)}`];
  if (error !== null) lines.push(`    first error: ${error}`);
  return `${lines.join('\n')}\n`;
}

function formatHistogram({ histogram }: Measurement): string {
  const all = histogram.reduce((sum, { count }) => sum + count, 0);
  const steps = histogram.map(({ withinMs, count }) => {
    const share = `${((count / all) * 100).toFixed(1)} %`;
    return Number.isFinite(withinMs) ? `≤${withinMs} ms: ${share}` : `longer: ${share}`;
  });
  return steps.join('  ');
}

export function markOf({ isMet }: Verdict): string {
  if (isMet === null) return 'not measured';
  return isMet ? 'met' : 'not met';
}

export function formatVerdicts(verdicts: readonly Verdict[]): string {
  const width = Math.max(0, ...verdicts.map(({ target }) => target.length));
  const lines = verdicts.map((verdict) => {
    return `${verdict.target.padEnd(width)}  ${verdict.measured.padStart(10)}  ${markOf(verdict)}`;
  });
  return lines.map((line) => `${line}\n`).join('');
}
