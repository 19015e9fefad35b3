import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readMutants } from '../mutants/record.ts';
import type { Fault } from './door/fault.ts';
import { type FaultRecord, RECORDS } from './door/record.ts';
import { FAULTS } from './faults.ts';

const PAGE = fileURLToPath(new URL('../../docs/reliability.md', import.meta.url));

/** What was run, by the name of its fault. */
function readRecords(): ReadonlyMap<string, FaultRecord> {
  const files = readdirSync(RECORDS).filter((file) => file.endsWith('.json'));
  const records = files.map((file) => JSON.parse(readFileSync(join(RECORDS, file), 'utf8')) as FaultRecord);
  return new Map(records.map((record) => [record.name, record]));
}

interface Run {
  readonly fault: Fault;
  readonly record: FaultRecord;
}

/** In the order of the faults; one that nobody has recorded is not told of. */
function listRuns(): readonly Run[] {
  const records = readRecords();
  return FAULTS.flatMap((fault) => {
    const record = records.get(fault.name);
    return record === undefined ? [] : [{ fault, record }];
  });
}

const BLOCKS: Readonly<Record<string, (runs: readonly Run[]) => readonly string[]>> = {
  results: writeResults,
  figures: writeFigures,
  controls: writeControls,
  planted: writePlanted,
  mutants: writeMutants,
  found: writeFound,
};

function writeResults(runs: readonly Run[]): readonly string[] {
  const rows = runs.map(({ fault, record }) => {
    const { command, count, violations, seconds, commit, day } = record;
    const result = violations === 0 ? 'no violation' : `**${violations} violations**`;
    const what = `${format(count)} ${fault.unit}`;
    const run = `${day}, \`${commit}\`, ${sayTime(seconds)}`;
    return `| ${fault.promise} | \`${command}\` | ${what} | ${result} | ${run} |`;
  });
  return ['| promise | command | size | result | run |', '|---|---|---|---|---|', ...rows];
}

/** What else was counted, on a line of its own for each. */
function writeFigures(runs: readonly Run[]): readonly string[] {
  return runs
    .filter(({ fault, record }) => fault.name !== 'planted' && Object.keys(record.facts).length > 0)
    .map(({ fault, record }) => {
      const facts = Object.entries(record.facts).map(([name, value]) => `${name} ${format(value)}`);
      return `- \`${fault.name}\`: ${facts.join('; ')}.`;
    });
}

function writeControls(runs: readonly Run[]): readonly string[] {
  const rows = runs.flatMap(({ fault, record }) =>
    record.controls.map(
      ({ name, found, count }) => `| \`${fault.name}\` | ${name} | ${format(found)} of ${format(count)} |`,
    ),
  );
  return ['| | damage | found |', '|---|---|---:|', ...rows];
}

function writePlanted(runs: readonly Run[]): readonly string[] {
  const record = runs.find(({ fault }) => fault.name === 'planted')?.record;
  const rows = Object.entries(record?.facts ?? {}).map(([kind, text]) => {
    const [, name = '', found = ''] = /^(\S+): (.*)$/s.exec(String(text)) ?? [];
    return `| ${kind} | \`${name}\` | ${found.replaceAll('|', '\\|')} |`;
  });
  return ['| bug | found by | its first complaint |', '|---|---|---|', ...rows];
}

function writeMutants(): readonly string[] {
  const record = readMutants();
  if (record === null) return [];
  const { command, count, found, timeouts, notCovered, possible, survivors, day, commit, seconds } = record;
  const share = ((100 * found) / count).toFixed(1);
  const run = `${day}, \`${commit}\`, ${sayTime(seconds)}`;
  return [
    `\`${command}\` (${run}): ${format(count)} of ${format(possible)} mutants, **${format(found)} found`,
    `(${share} %)**, ${format(timeouts)} of them because the tests did not end.`,
    `${format(notCovered)} are covered by no test.`,
    `The ${format(survivors.length)} that survived are listed with reasons in`,
    '[test/mutants/record.json](../test/mutants/record.json).',
  ];
}

function writeFound(runs: readonly Run[]): readonly string[] {
  return runs.flatMap(({ fault }) => (fault.hasFound ?? []).map((text) => `- \`${fault.name}\`: ${text}`));
}

function format(value: number | string): string {
  return typeof value === 'number' ? value.toLocaleString('en-US') : value;
}

function sayTime(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** The page, with what stands between its marks made anew. */
export function writeReliabilityPage(page = readFileSync(PAGE, 'utf8')): string {
  const runs = listRuns();
  return Object.entries(BLOCKS).reduce((text, [name, write]) => {
    const [open, close] = [`<!-- made: ${name} -->`, `<!-- end: ${name} -->`];
    const [before, rest] = text.split(open);
    const after = rest?.split(close)[1];
    if (before === undefined || after === undefined) throw new Error(`${PAGE} has no ${open}.`);
    return `${before}${open}\n\n${write(runs).join('\n')}\n\n${close}${after}`;
  }, page);
}

// `npm run docs`
if (import.meta.main) writeFileSync(PAGE, writeReliabilityPage());
