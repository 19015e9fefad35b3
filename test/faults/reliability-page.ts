import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readMutants } from '../mutants/record.ts';
import type { Fault } from './door/fault.ts';
import { type FaultRecord, RECORDS } from './door/record.ts';
import { format, RESULT_HEAD, sayTime, writeResultRow } from './door/result-row.ts';
import { FAULTS } from './faults.ts';
import { FOUND_EARLIER } from './found-earlier.ts';
import { TRIES } from './planted/planted.ts';
import { writeSize } from './project-size.ts';
import { writeMatrix } from './promise-matrix.ts';
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
  size: writeSize,
  promises: writeMatrix,
  results: (runs) => [...RESULT_HEAD, ...runs.map(({ fault, record }) => writeResultRow(fault, record))],
  machine: writeMachines,
  missing: writeMissing,
  needs: writeNeeds,
  figures: writeFigures,
  unprotected: writeUnprotected,
  bounds: writeBounds,
  controls: writeControls,
  planted: writePlanted,
  mutants: writeMutants,
  found: writeFound,
};

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
  const names = missing.map(({ name }) => `\`${name}\``).join(', ');
  return [
    `Not recorded yet: ${names} (${missing.length} of ${FAULTS.length}; \`--list\` says what they show).`,
  ];
}

/** For whoever wants to run them. */
function writeNeeds(): readonly string[] {
  const all = FAULTS.flatMap(({ name, needs = [] }) => needs.map((need) => ({ name, need })));
  return [...Map.groupBy(all, ({ need }) => need)].map(
    ([{ name, advice }, faults]) =>
      `- ${name} (${advice}): ${faults.map((one) => `\`${one.name}\``).join(', ')}.`,
  );
}

/** What else was counted, on a line of its own for each. */
function writeFigures(runs: readonly Run[]): readonly string[] {
  return runs
    .filter(({ fault, record }) => fault.name !== 'planted' && Object.keys(record.facts).length > 0)
    .map(({ fault, record }) => {
      const facts = Object.entries(record.facts)
        .filter(([name]) => !name.startsWith(UNPROTECTED))
        .map(([name, value]) => `${name}: ${format(value)}`);
      return `- \`${fault.name}\`: ${facts.join('; ')}.`;
    });
}

const UNPROTECTED = 'not protected: ';

/** A flip elsewhere that nothing notices is a violation of `bitrot`. */
function writeUnprotected(runs: readonly Run[]): readonly string[] {
  const facts = runs.find(({ fault }) => fault.name === 'bitrot')?.record.facts ?? {};
  const all = Object.entries(facts).filter(([name]) => name.startsWith(UNPROTECTED));
  const places = all.map(([name, value]) => `- \`${name.slice(UNPROTECTED.length)}\`: ${value}`);
  const isInDatabase = all.some(([name]) => name.startsWith(`${UNPROTECTED}berth.db`));
  const end = isInDatabase ? [] : ['', 'No column of the database is unprotected.'];
  return ['Not protected, and how many flips had an effect there:', '', ...places, ...end];
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
  const tries = `Each was tried with up to ${TRIES} seeds.`;
  return ['| bug | found by | its first complaint |', '|---|---|---|', ...rows, '', tries];
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
  const { command, count, found, timeouts, notCovered, possible, rejected, survivors } = record;
  const share = (of: number, whole: number) => `${((100 * of) / whole).toFixed(1)} %`;
  const run = `${record.day}, \`${record.commit}\`, ${sayTime(record.seconds)}`;
  const reasons = Map.groupBy(survivors, ({ reason }) => judgeSurvivor(reason));
  const equivalent = reasons.get('equivalent')?.length ?? 0;
  const drawn = count + rejected;
  const counts = [...reasons].map(([kind, { length }]) => `${length} ${kind}`).join(', ');
  return [
    `\`${command}\` (${run}): ${format(count)} mutants, **${format(found)} found (${share(found, count)})**,`,
    `${timeouts} of them by timeout. Without those that are equivalent to the original, the share is`,
    `${share(found, count - equivalent)}. They are drawn from ${format(possible)} changes. The compiler`,
    `rejected ${rejected} of the ${format(drawn)} drawn (${share(rejected, drawn)}), which are not counted.`,
    'With `--again`, what an earlier run has found counts as found, and its tests do not run again.',
    '',
    `${survivors.length} survived, ${notCovered} of them reached by no test: ${counts}. All are listed with`,
    'reasons in [test/mutants/record.json](../test/mutants/record.json).',
  ];
}

const SURVIVORS: readonly (readonly [kind: string, reason: RegExp])[] = [
  ['equivalent', /^Equivalent:/],
  ['accepted', /^(Accepted|Equivalent except)/],
  ['gaps that are left', /^Not covered/],
  ['found since', /^Found/],
];

function judgeSurvivor(reason: string): string {
  return SURVIVORS.find(([, pattern]) => pattern.test(reason))?.[0] ?? 'without a reason yet';
}

function writeFound(): readonly string[] {
  const earlier = Object.entries(FOUND_EARLIER).map(([commit, text]) => `- ${text} (\`${commit}\`)`);
  return [
    ...FAULTS.flatMap(({ name, hasFound = [] }) => hasFound.map((text) => `- \`${name}\`: ${text}`)),
    ...['', 'And before this page existed or without these faults, each with the commit that fixed it:', ''],
    ...earlier,
  ];
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
