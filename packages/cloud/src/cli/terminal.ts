import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { escapeLines, escapeUnprintable, toPrintableJson } from '@berth/protocol/hidden-characters';
import type { QrScreen } from '@berth/protocol/qr-code';

/** What a command reads from and writes to. Answers go to standard output, all else to standard error. */
export interface Terminal extends QrScreen {
  print(line: string): void;
  complain(line: string): void;
  /** A secret from standard input: never from the command line, where every user of the machine sees it. */
  readSecret(prompt: string): Promise<string>;
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
  readSecret,
};

/** The first line. On a terminal it is asked for, and not shown while it is typed. */
async function readSecret(prompt: string): Promise<string> {
  const isTyped = process.stdin.isTTY === true;
  if (isTyped) process.stderr.write(prompt);
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output, terminal: isTyped });
  for await (const line of lines) {
    lines.close();
    if (isTyped) process.stderr.write('\n');
    return line;
  }
  return '';
}

/** Rows under a heading, in columns as wide as their widest cell. */
export function formatTable(heading: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = [heading, ...rows].map((row) => row.map(formatCell));
  const widths = heading.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? '').length)));
  const line = (row: readonly string[]) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return cells.map((row) => line(row).trimEnd()).join('\n');
}

function formatCell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'object' ? toPrintableJson(value) : escapeUnprintable(String(value));
}

/** One name and value a line. */
export function formatFacts(facts: Readonly<Record<string, unknown>>): string {
  const width = Math.max(...Object.keys(facts).map((name) => name.length));
  return Object.entries(facts)
    .map(([name, value]) => `${name.padEnd(width)}  ${formatCell(value)}`)
    .join('\n');
}
