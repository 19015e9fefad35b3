import { readFileSync, writeFileSync } from 'node:fs';
import { arch, cpus, platform, release, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readCommit } from '../../support/read-commit.ts';
import { describeCores } from '../cores.ts';
import { cpuShareOf, isGeneratorSaturated, type Measurement, shareOf } from '../measurement.ts';
import type { Verdict } from '../scenarios.ts';
import { describeChart, drawChart, listBars } from './chart.ts';

/** Beside the page. */
const CHART = 'performance.svg';

const PAGE = fileURLToPath(new URL('../../../docs/performance.md', import.meta.url));

/** Where the server under load keeps its data. */
export type StoreKind = 'sqlite' | 'postgres';

/** Between these the page has the tables of a store. */
const MARKS: Readonly<Record<StoreKind, { readonly start: string; readonly end: string }>> = {
  sqlite: { start: '<!-- bench:start -->', end: '<!-- bench:end -->' },
  postgres: { start: '<!-- bench:postgres:start -->', end: '<!-- bench:postgres:end -->' },
};

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

/** What the page shows; the console and `--json` have all columns and rows. */
const PAGE_COLUMNS = ['scenario', 'requests/s', 'share', 'CPU µs', 'database CPU µs', 'p50 ms', 'p99 ms'];
const PAGE_ROWS = [
  'heartbeat, 64 connections',
  'bare node:http, 64 connections',
  "Berth's HTTP side without a store, 64 connections",
  'heartbeat, 16 connections',
  'grant, every time a new user',
  'denial, every time a new user',
  'borrow',
  'consumption',
  'heartbeat, 100,000 slots, 64 connections',
  'register + unregister, 1,000 slots, 64 connections',
  'register + unregister, 100,000 slots, 64 connections',
  'herd, 5,000 users over 256 connections',
  'heartbeat, 1,000 connections',
  'heartbeat, 5 ms a sync, 1 connection',
  'heartbeat, 5 ms a sync, 64 connections',
  'heartbeat',
  'register + unregister',
  'heartbeat, 50,000 of 100,000 slots held',
  'heartbeat, one license, two servers',
  'heartbeat, 20 licenses, two servers',
];
/** Targets between others that the page shows; left out of it when met. */
const BETWEEN = /50,000 slots|16 connections/;

function alignRow(store: StoreKind, cells: readonly string[]): string {
  const widths = COLUMNS[store].map(({ width }) => width);
  return cells
    .map((cell, index) => (index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0)))
    .join(' ');
}

function headingOf(store: StoreKind): readonly string[] {
  return COLUMNS[store].map(({ name }) => name);
}

function cellsOf(store: StoreKind, measurement: Measurement): readonly string[] {
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

function markOf({ isMet }: Verdict): string {
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

function markdownTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const ruler = heading.map((_, index) => (index === 0 ? '---' : '---:'));
  return [heading, ruler, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The lowest and the highest of the first numbers, such as "57.1–183.3 ms". */
function rangeOf(measured: readonly string[]): string {
  const parts = measured.map((text) => /^(\D*)([\d.]+)([^,;:(]*)/.exec(text));
  const values = parts.map((part) => part?.[2] ?? '').sort((a, b) => Number(a) - Number(b));
  const [, before = '', , after = ''] = parts[0] ?? [];
  if (values.includes('')) return measured[0] ?? '';
  return `${before}${[...new Set([values[0], values.at(-1)])].join('–')}${after}`.trimEnd();
}

/** The targets with what all runs have measured. */
function targetTable(runs: readonly Report[]): string {
  const targets = (runs[0] as Report).verdicts.flatMap(({ target }) => {
    const found = runs.flatMap(({ verdicts }) => verdicts.filter((one) => one.target === target));
    if (BETWEEN.test(target) && found.every(isMet)) return [];
    const marks = new Set(found.map(markOf));
    const mark =
      marks.size === 1 ? [...marks].join('') : `met in ${found.filter(isMet).length} of ${found.length}`;
    return [[target, rangeOf(found.map((one) => one.measured)), mark]];
  });
  return markdownTable(['target', 'measured', ''], targets);
}

function isMet(verdict: Verdict): boolean {
  return verdict.isMet === true;
}

/** The most telling measurements of the last run, and the targets of all. */
function formatPageTables(runs: readonly Report[]): string {
  const { store, machine, measurements } = runs.at(-1) as Report;
  const columns = COLUMNS[store].filter(({ name }) => PAGE_COLUMNS.includes(name));
  const rows = measurements.filter(({ label }) => PAGE_ROWS.includes(label));
  const facts = Object.entries(machine).map(([name, value]) => `${name} ${value}`);
  return [
    ...(store === 'sqlite' ? [`![${describeChart(listBars(measurements))}](${CHART})`] : []),
    `${facts.join('; ')}; runs: ${runs.length}.`,
    markdownTable(
      columns.map(({ name }) => name),
      rows.map((measurement) => columns.map(({ cell }) => cell(measurement))),
    ),
    targetTable(runs),
  ].join('\n\n');
}

/** Puts the tables where those of earlier runs stood, and the chart beside the page. */
export function writePage(runs: readonly Report[]): void {
  const report = runs.at(-1) as Report;
  const marks = MARKS[report.store];
  const page = readFileSync(PAGE, 'utf8');
  const start = page.indexOf(marks.start);
  const end = page.indexOf(marks.end);
  if (start < 0 || end < start)
    throw new Error(`${PAGE} has lost its marks ${marks.start} and ${marks.end}.`);
  const tables = formatPageTables(runs);
  if (report.store === 'sqlite')
    writeFileSync(join(dirname(PAGE), CHART), drawChart(listBars(report.measurements)));
  writeFileSync(PAGE, `${page.slice(0, start)}${marks.start}\n\n${tables}\n\n${page.slice(end)}`);
}
