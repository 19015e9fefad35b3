import { readFileSync, writeFileSync } from 'node:fs';
import { arch, cpus, platform, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describeCores } from './cores.ts';
import { cpuShareOf, type Measurement, shareOf } from './measurement.ts';
import type { Verdict } from './scenarios.ts';

const PAGE = fileURLToPath(new URL('../../docs/performance.md', import.meta.url));
const START_MARK = '<!-- bench:start -->';
const END_MARK = '<!-- bench:end -->';

/** Everything that one run found. */
export interface Report {
  readonly machine: Readonly<Record<string, string>>;
  readonly measurements: readonly Measurement[];
  readonly notes: readonly { readonly name: string; readonly value: string }[];
  readonly verdicts: readonly Verdict[];
}

export function describeMachine(seconds: number): Report['machine'] {
  return {
    date: new Date().toISOString().slice(0, 10),
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

function percentOf(share: number | null): string {
  return share === null ? '' : `${(share * 100).toFixed(0)} %`;
}

function cellsOf(measurement: Measurement): readonly string[] {
  const { label, cpuMicros, constant, othersCores } = measurement;
  return [
    label,
    whole(measurement.rate),
    constant === null ? '' : whole(constant.rate),
    percentOf(shareOf(measurement)),
    cpuMicros === null ? '' : whole(cpuMicros),
    percentOf(cpuShareOf(measurement)),
    measurement.p50.toFixed(1),
    measurement.p99.toFixed(1),
    measurement.max.toFixed(0),
    othersCores === null ? '' : othersCores.toFixed(2),
    String(measurement.errors),
  ];
}

const COLUMNS = [
  'scenario',
  'requests/s',
  'constant/s',
  'share',
  'CPU µs',
  'CPU share',
  'p50 ms',
  'p99 ms',
  'max ms',
  'others',
  'errors',
];
const WIDTHS = [52, 10, 10, 6, 6, 9, 7, 7, 7, 6, 6];

function alignRow(cells: readonly string[]): string {
  return cells
    .map((cell, index) =>
      index === 0 ? cell.padEnd(WIDTHS[0] as number) : cell.padStart(WIDTHS[index] ?? 0),
    )
    .join(' ');
}

export function formatHeading(): string {
  return `${alignRow(COLUMNS)}\n`;
}

export function formatMeasurement(measurement: Measurement): string {
  const error = measurement.firstError;
  const lines = [alignRow(cellsOf(measurement)), `    ${formatHistogram(measurement)}`];
  if (error !== null) lines.push(`    first error: ${error}`);
  return `${lines.join('\n')}\n`;
}

function formatHistogram({ histogram, requests }: Measurement): string {
  const steps = histogram.map(({ withinMs, count }) => {
    return `≤${withinMs} ms: ${((count / requests) * 100).toFixed(1)} %`;
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

function formatPageTables({ machine, measurements, notes, verdicts }: Report): string {
  const facts = Object.entries(machine).map(([name, value]) => [name, value]);
  const targets = verdicts.map((verdict) => [verdict.target, verdict.measured, markOf(verdict)]);
  return [
    markdownTable(['machine', ''], facts),
    markdownTable(COLUMNS, measurements.map(cellsOf)),
    ...notes.map(({ name, value }) => `- ${name}: ${value}`),
    markdownTable(['target', 'measured', ''], targets),
  ].join('\n\n');
}

/** Puts the tables of this run where those of the last one stood. */
export function writePage(report: Report): void {
  const page = readFileSync(PAGE, 'utf8');
  const start = page.indexOf(START_MARK);
  const end = page.indexOf(END_MARK);
  if (start < 0 || end < start) throw new Error(`${PAGE} has lost its marks ${START_MARK} and ${END_MARK}.`);
  const tables = formatPageTables(report);
  writeFileSync(PAGE, `${page.slice(0, start)}${START_MARK}\n\n${tables}\n\n${page.slice(end)}`);
}
