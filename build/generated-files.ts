import { readFileSync, writeFileSync } from 'node:fs';
import { RIGHTS } from '../packages/protocol/src/admin/choices.ts';
import { CLIENT_ADVICE, ERROR_CODES, ERRORS, type ErrorEntry } from '../packages/protocol/src/errors.ts';
import { envOf, flagOf } from '../packages/server/src/config.ts';
import { SETTINGS } from '../packages/server/src/settings.ts';

const LONGEST_LINE = 110;

/** The texts of all generated files, by path. */
export function generateFiles(): Readonly<Record<string, string>> {
  const errors = readFileSync(locate('docs/errors.md'), 'utf8');
  return {
    'docs/settings.md': replaceTable(readFileSync(locate('docs/settings.md'), 'utf8'), writeSettings()),
    'docs/securing.md': replaceTable(readFileSync(locate('docs/securing.md'), 'utf8'), writeRights()),
    'docs/errors.md': replaceTable(errors, writeErrors(errors)),
    'packages/client/src/refusals.ts': writeClientTables(TYPESCRIPT),
    'clients/python/src/berth_client/refusals.py': writeClientTables(PYTHON),
  };
}

function locate(path: string): URL {
  return new URL(`../${path}`, import.meta.url);
}

/** Replaces the table that has the same header. */
function replaceTable(page: string, [head = '', ...rows]: readonly string[]): string {
  const [before, after = ''] = page.split(`${head}\n`);
  return `${before}${head}\n${rows.join('\n')}\n${after.replace(/^(?:\|.*\n)+/, '')}`;
}

function writeSettings(): readonly string[] {
  const rows = SETTINGS.map(({ path, default: value, about, isLive }) => {
    const words = (Array.isArray(value) ? value : [value]).filter((word) => word !== '');
    const shown = words.map((word) => ` \`${word}\``).join(',');
    const text = about.replaceAll('|', '\\|');
    const name = `\`${path}\`${isLive ? ' •' : ''}`;
    return `| ${name} | \`--${flagOf(path)}\` | \`${envOf(path)}\` |${shown} | ${text} |`;
  });
  return ['| name | flag | environment | default | meaning |', '|---|---|---|---|---|', ...rows];
}

function writeRights(): readonly string[] {
  return [
    '| role | rights |',
    '|---|---|',
    ...Object.entries(RIGHTS).map(([who, may]) => `| ${who} | ${may} |`),
  ];
}

/** The last column is written by hand: it stays. The row of a new code starts with its advice. */
function writeErrors(page: string): readonly string[] {
  const rows = ERROR_CODES.map((code) => {
    const { status, retryable, title, advice = '' } = ERRORS[code];
    const [, help = advice] = new RegExp(`^\\| \`${code}\` \\|.*\\| (.*) \\|$`, 'm').exec(page) ?? [];
    return `| \`${code}\` | ${status} |${retryable ? ' yes ' : ''}| ${title} | ${help} |`;
  });
  return ['| code | status | retry | what happened | what to do |', '|---|---|---|---|---|', ...rows];
}

const TYPESCRIPT = {
  comment: '//',
  indent: '  ',
  map: ['export const ADVICE: Readonly<Record<string, string>> = {', '};'],
  entry: (code: string, text: string) => `${code}: '${text}'`,
  set: (name: string) => [`export const ${name} = new Set([`, ']);'],
  item: (code: string) => `'${code}'`,
};

const PYTHON: typeof TYPESCRIPT = {
  comment: '#',
  indent: '    ',
  map: ['ADVICE = {', '}'],
  entry: (code, text) => `"${code}": ${text.includes('"') ? `'${text}'` : `"${text}"`}`,
  set: (name) => [`${name} = {`, '}'],
  item: (code) => `"${code}"`,
};

/** What a client knows of the codes. Clients import nothing, so each has its own copy. */
function writeClientTables({ comment, indent, map, entry, set, item }: typeof TYPESCRIPT): string {
  const write = (about: string, [open = '', close = '']: readonly string[], items: readonly string[]) => {
    const line = `${open}${items.join(', ')}${close}`;
    const lines = [open, ...items.map((one) => `${indent}${one},`), close].join('\n');
    return `\n${comment} ${about}\n${line.length > LONGEST_LINE ? lines : line}\n`;
  };
  const writeSet = (name: string, about: string, has: (facts: ErrorEntry) => boolean | undefined) =>
    write(about, set(name), ERROR_CODES.filter((code) => has(ERRORS[code])).map(item));
  const advised = ERROR_CODES.map((code) => [code, ERRORS[code].advice ?? ''] as const);
  const advice = [...Object.entries(CLIENT_ADVICE), ...advised.filter(([, text]) => text !== '')];
  return [
    `${comment} Written by "npm run docs" from the table of errors.\n`,
    write(
      'What to do.',
      map,
      advice.map(([code, text]) => entry(code, text)),
    ),
    writeSet('RETRYABLE', 'The same call may succeed later.', ({ retryable }) => retryable),
    writeSet('ENDS_BY_WAITING', 'Others hold all slots.', ({ endsByWaiting }) => endsByWaiting),
    writeSet('NOT_HELD', 'The user does not hold the slot.', ({ notHeld }) => notHeld),
    writeSet('REFUSES_COUNT', 'The count itself is refused for good.', ({ refusesCount }) => refusesCount),
  ].join('');
}

// `npm run docs`
if (import.meta.main) {
  for (const [path, text] of Object.entries(generateFiles())) writeFileSync(locate(path), text);
}
