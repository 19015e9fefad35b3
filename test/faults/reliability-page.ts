import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readMutants } from '../mutants/record.ts';
import type { Fault } from './door/fault.ts';
import { type FaultRecord, RECORDS } from './door/record.ts';
import { FAULTS } from './faults.ts';
import { BOUNDS, SETTLED_DAYS } from './soak/soak.ts';

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

/** In the order of the faults. */
function listRuns(): readonly Run[] {
  const records = readRecords();
  return FAULTS.flatMap((fault) => {
    const record = records.get(fault.name);
    return record === undefined ? [] : [{ fault, record }];
  });
}

const BLOCKS: Readonly<Record<string, (runs: readonly Run[]) => readonly string[]>> = {
  results: writeResults,
  machine: writeMachines,
  missing: writeMissing,
  figures: writeFigures,
  unprotected: writeUnprotected,
  bounds: writeBounds,
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

function writeMachines(runs: readonly Run[]): readonly string[] {
  const mutants = readMutants();
  const all = [
    ...runs.map(({ record }) => record),
    ...(mutants === null ? [] : [{ ...mutants, name: 'mutants' }]),
  ];
  const machines = Map.groupBy(all, ({ machine }) => machine);
  if (machines.size === 1) return [`Everything on this page was run on one machine: ${all[0]?.machine}.`];
  return [...machines].map(([machine, records]) => {
    const names = records.map(({ name }) => `\`${name}\``);
    return `- ${names.join(', ')}: ${machine}.`;
  });
}

/** So that the page never seems to tell of everything when it does not. */
function writeMissing(runs: readonly Run[]): readonly string[] {
  const missing = FAULTS.filter((fault) => !runs.some((run) => run.fault === fault));
  if (missing.length === 0) return [`All ${FAULTS.length} are recorded.`];
  const list = missing.map(({ name, promise }) => `- \`${name}\`: ${promise}`);
  return [`Not recorded yet are ${missing.length} of ${FAULTS.length}:`, '', ...list];
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

const UNPROTECTED = 'not protected: ';

/** A flip elsewhere that nothing notices is a violation of `bitrot`. */
function writeUnprotected(runs: readonly Run[]): readonly string[] {
  const facts = runs.find(({ fault }) => fault.name === 'bitrot')?.record.facts ?? {};
  const names = Object.keys(facts).filter((name) => name.startsWith(UNPROTECTED));
  const places = names.map((name) => name.slice(UNPROTECTED.length));
  const isInDatabase = places.some((place) => place.startsWith('berth.db'));
  const list = places.map((place) => `\`${place}\``).join(', ');
  return [`Not protected: ${list}.${isInDatabase ? '' : ' No column of the database is unprotected.'}`];
}

/** What `soak` compares the figures above with. */
function writeBounds(): readonly string[] {
  const { memoryMb, memoryGrowth, descriptors, connections, logMb, bytesPerEvent } = BOUNDS;
  return [
    `At the end of every month, \`soak\` allows ${memoryMb} MB of memory, ${descriptors} descriptors besides`,
    `${connections} connections, and a write-ahead log of ${logMb} MB; at the end of the year, no more than`,
    `${memoryGrowth} × the memory of day ${SETTLED_DAYS}, and ${bytesPerEvent} bytes of database for each`,
    'audit event.',
  ];
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
    return `| ${kind} | \`${name}\` | ${shorten(found).replaceAll('|', '\\|')} |`;
  });
  return ['| bug | found by | its first complaint |', '|---|---|---|', ...rows];
}

/** Records may end within a word. */
const LONGEST_COMPLAINT = 160;

function shorten(text: string): string {
  if (text.length <= LONGEST_COMPLAINT) return text;
  return `${text.slice(0, LONGEST_COMPLAINT).replace(/\s+\S*$/, '')} …`;
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
