import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { hasPostgres, startPostgres } from '../support/stores/postgres.ts';
import { type Calls, fileOf } from './call-counter.ts';
import { type Traced, traceRequests } from './trace-requests.ts';

export const PAGE = fileURLToPath(new URL('../../ARCHITECTURE.md', import.meta.url));

/** Between these lines the page is written by `npm run path`. */
const PART = /(<!-- traced -->\n).*?(\n<!-- end of traced -->)/s;
const ROW = /^\| \d+ \| `(\S+)` \| \d+ \| (.*) \|$/gm;

const SERVER = 'server/src/';
const IDLE_MS = 10_000;

interface Size {
  readonly files: number;
  readonly functions: number;
  readonly calls: number;
}

export function sizeOf(calls: Calls): Size {
  const total = [...calls.values()].reduce((sum, count) => sum + count, 0);
  return { files: listFiles(calls).length, functions: calls.size, calls: total };
}

/** The files of a trace, as the page names them. */
export function listFiles(calls: Calls): readonly string[] {
  return [...new Set([...calls.keys()].map(pathOf))].sort();
}

function pathOf(key: string): string {
  const file = fileOf(key);
  return file.startsWith(SERVER) ? file.slice(SERVER.length) : file;
}

/** The files that the page names as traced. */
export function readFiles(page: string): readonly string[] {
  const part = PART.exec(page)?.[0] ?? '';
  return [...part.matchAll(/`((?:[\w-]+\/)+[\w-]+\.ts)`/g)].map(([, file]) => file as string).sort();
}

/**
 * Writes the path of a register into the page. People have put the steps in order and said what each does.
 * That is kept; files without a step are listed below them.
 */
function writePath(page: string, { register, heartbeat }: Traced, postgres: Traced | null): string {
  const left = new Set(listFiles(register));
  const rows: string[] = [];
  for (const [, file = '', words = ''] of page.matchAll(ROW)) {
    if (!left.delete(file)) continue;
    const functions = [...register.keys()].filter((key) => pathOf(key) === file).length;
    rows.push(`| ${rows.length + 1} | \`${file}\` | ${functions} | ${words} |`);
  }
  const sizes = [
    sizeLine('a register of a new user', register),
    sizeLine('a heartbeat', heartbeat),
    ...(postgres === null ? [] : [sizeLine('a register on PostgreSQL', postgres.register)]),
  ];
  const part = [
    '| traced | files | functions | calls |\n|---|---:|---:|---:|',
    ...sizes,
    '\n| | file in `packages/server/src/` | functions | what it does |\n|---:|---|---:|---|',
    ...rows,
    `\nOn the way they call small functions that hand nothing on, of\n${listNames([...left])}.`,
  ];
  return page.replace(PART, (_, start, end) => `${start}\n${part.join('\n')}\n${end}`);
}

function sizeLine(name: string, traced: Calls): string {
  const { files, functions, calls } = sizeOf(traced);
  return `| ${name} | ${files} | ${functions} | ${calls} |`;
}

const WIDTH = 118;

function listNames(files: readonly string[]): string {
  let text = '';
  let line = '';
  for (const name of files.map((file, place) => `\`${file}\`${place < files.length - 1 ? ',' : ''}`)) {
    if (line.length + name.length > WIDTH) {
      text += `${line}\n`;
      line = '';
    }
    line += line === '' ? name : ` ${name}`;
  }
  return text + line;
}

// `npm run path`
async function updatePage(): Promise<void> {
  const sqlite = await traceRequests({ idleMs: IDLE_MS });
  const cluster = hasPostgres ? await startPostgres() : null;
  const database = await cluster?.createDatabase('tables');
  const postgres = database === undefined ? null : await traceRequests({ idleMs: IDLE_MS, database });
  await cluster?.end();
  writeFileSync(PAGE, writePath(readFileSync(PAGE, 'utf8'), sqlite, postgres));
}

// Not awaited, so that tests can load this file synchronously.
if (import.meta.main) void updatePage();
