import { escapeLines, escapeUnprintable, toPrintableJson } from '@berth/protocol/hidden-characters';
import type { QrScreen } from '@berth/protocol/qr-code';
import { readSecrets, type SecretPrompt } from './read-secrets.ts';

/** What a command writes to. Answers go to standard output, everything else to standard error. */
export interface Terminal extends QrScreen {
  print(line: string): void;
  complain(line: string): void;
  /** Asks a person, or takes what standard input holds: a line for each. */
  readSecrets(prompts: readonly SecretPrompt[]): Promise<readonly string[]>;
}

export const processTerminal: Terminal = {
  // Names come from anybody, and a terminal obeys some characters: nothing gets past here as it is.
  print: (line) => process.stdout.write(`${escapeLines(line)}\n`),
  complain: (line) => process.stderr.write(`${escapeLines(line)}\n`),
  // Nothing in it comes from outside: it is black and white.
  draw: (picture) => process.stdout.write(`${picture}\n`),
  get columns() {
    return process.stdout.isTTY === true ? process.stdout.columns : null;
  },
  readSecrets: (prompts) => readSecrets(prompts, process.stdin, (text) => process.stderr.write(text)),
};

/** Rows under a heading, in columns as wide as their widest cell. */
export function formatTable(heading: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = [heading, ...rows].map((row) => row.map(formatCell));
  const widths = heading.map((_, column) =>
    cells.reduce((widest, row) => Math.max(widest, (row[column] ?? '').length), 0),
  );
  return cells
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function formatCell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return typeof value === 'object' ? toPrintableJson(value) : escapeUnprintable(String(value));
}

/** One name and value a line. */
export function formatFacts(facts: Readonly<Record<string, unknown>>): string {
  const width = Math.max(...Object.keys(facts).map((name) => name.length));
  return Object.entries(facts)
    .map(([name, value]) => `${name.padEnd(width)}  ${formatCell(value)}`)
    .join('\n');
}

/** What is known, as `name=value` in one line. */
export function formatInline(facts: Readonly<Record<string, unknown>>): string {
  return Object.entries(facts)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${sayValue(value)}`)
    .join(' ');
}

/** A list longer than this fills the screen, and is told by its length. `--json` shows all of it. */
const LONGEST_SHOWN_LIST = 10;

function sayValue(value: unknown): string {
  if (Array.isArray(value) && value.length > LONGEST_SHOWN_LIST) return `(${value.length} in all)`;
  return typeof value === 'string' ? escapeUnprintable(value) : toPrintableJson(value);
}
