import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describeChart, drawChart, listBars } from './chart.ts';
import { type BenchRecord, readRecord } from './record.ts';
import { headingOf, type StoreKind } from './report.ts';

const PAGE = 'docs/performance.md';
/** Beside the page. */
const CHART = 'performance.svg';

/** Between these the page has the tables of a store. */
const MARKS: Readonly<Record<StoreKind, { readonly start: string; readonly end: string }>> = {
  sqlite: { start: '<!-- bench:start -->', end: '<!-- bench:end -->' },
  postgres: { start: '<!-- bench:postgres:start -->', end: '<!-- bench:postgres:end -->' },
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

function markdownTable(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const ruler = heading.map((_, index) => (index === 0 ? '---' : '---:'));
  return [heading, ruler, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The most telling measurements, and the targets. */
function formatTables({ store, machine, runs, measurements, targets }: BenchRecord): string {
  const columns = headingOf(store).filter((name) => PAGE_COLUMNS.includes(name));
  const rows = measurements.filter(({ scenario = '' }) => PAGE_ROWS.includes(scenario));
  const shown = targets.filter(({ target, mark }) => !(BETWEEN.test(target) && mark === 'met'));
  const facts = Object.entries(machine).map(([name, value]) => `${name} ${value}`);
  return [
    ...(store === 'sqlite' ? [`![${describeChart(barsOf(measurements))}](${CHART})`] : []),
    `${facts.join('; ')}; runs: ${runs}.`,
    markdownTable(
      columns,
      rows.map((row) => columns.map((name) => row[name] ?? '')),
    ),
    markdownTable(
      ['target', 'measured', ''],
      shown.map(({ target, measured, mark }) => [target, measured, mark]),
    ),
  ].join('\n\n');
}

function barsOf(measurements: BenchRecord['measurements']) {
  return listBars(
    measurements.map(({ scenario = '', 'requests/s': rate = '' }) => {
      return { label: scenario, rate: Number(rate.replaceAll(',', '')) };
    }),
  );
}

function replaceTables(page: string, record: BenchRecord): string {
  const marks = MARKS[record.store];
  const start = page.indexOf(marks.start);
  const end = page.indexOf(marks.end);
  if (start < 0 || end < start)
    throw new Error(`${PAGE} has lost its marks ${marks.start} and ${marks.end}.`);
  return `${page.slice(0, start)}${marks.start}\n\n${formatTables(record)}\n\n${page.slice(end)}`;
}

function locate(path: string): string {
  return fileURLToPath(new URL(`../../../${path}`, import.meta.url));
}

/** The page with the tables of the records, and its chart, by path. */
export function makePerformancePage(): Readonly<Record<string, string>> {
  const sqlite = readRecord('sqlite');
  const page = replaceTables(readFileSync(locate(PAGE), 'utf8'), sqlite);
  return {
    [PAGE]: replaceTables(page, readRecord('postgres')),
    [`docs/${CHART}`]: drawChart(barsOf(sqlite.measurements)),
  };
}

export function writePerformancePage(): void {
  for (const [path, text] of Object.entries(makePerformancePage())) writeFileSync(locate(path), text);
}

// `npm run docs`
if (import.meta.main) writePerformancePage();
