import { escapeLines, escapeUnprintable, toPrintableJson } from '@berth/protocol/hidden-characters';
import { formatLocalTime, isTimestamp } from '@berth/protocol/timestamp';

/** Where output goes: a terminal, or a file or pipe. */
export interface Screen {
  readonly isTerminal: boolean;
  readonly hasColor: boolean;
}

interface Stream {
  readonly isTTY?: boolean;
  hasColors?(): boolean;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * `NO_COLOR` turns color off. `FORCE_COLOR` turns it on, even in a pipe, or off with 0. Without them, a
 * terminal has color if it supports it (`TERM=dumb` does not).
 */
export function describeScreen(stream: Stream, env: Env): Screen {
  const isTerminal = stream.isTTY === true;
  const { NO_COLOR: off = '', FORCE_COLOR: force = '' } = env;
  if (off !== '') return { isTerminal, hasColor: false };
  if (force !== '') return { isTerminal, hasColor: force !== '0' && force !== 'false' };
  return { isTerminal, hasColor: isTerminal && env.TERM !== 'dumb' && stream.hasColors?.() === true };
}

const ESCAPE = '\u001b';
const STYLES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const;
const OWN_CODE = /^\[(?:1|2|22|3[1239])m/;

export type Style = keyof typeof STYLES;

/** Marks text with a style, which `render` keeps only for a screen with color. */
export function paint(style: Style, text: string): string {
  const [on, off] = STYLES[style];
  return `${ESCAPE}[${on}m${text}${ESCAPE}[${off}m`;
}

/** Escapes all control characters except our own styles. */
export function render(text: string, { hasColor }: Pick<Screen, 'hasColor'>): string {
  return mapPlain(text, escapeLines, hasColor);
}

/** Formats a whole message in one style, with times as the screen shows them. */
export function emphasize(style: Style, message: string, screen: Screen): string {
  const text = escapeLines(message.replace(TIMESTAMPS, (timestamp) => sayTime(timestamp, screen)));
  return screen.hasColor ? paint(style, text) : text;
}

const TIMESTAMPS = /\d\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ/g;

/** Maps the text between styles. */
function mapPlain(text: string, map: (plain: string) => string, keepsStyles: boolean): string {
  const [first = '', ...rest] = text.split(ESCAPE);
  const parts = rest.map((part) => {
    const code = OWN_CODE.exec(part)?.[0];
    if (code === undefined) return map(ESCAPE + part);
    return (keepsStyles ? ESCAPE + code : '') + map(part.slice(code.length));
  });
  return map(first) + parts.join('');
}

/**
 * Prepares a command's answer for a screen: local time on a terminal, and no text that could pass as one of
 * our styles, because names may contain anything.
 */
export function toReadable(value: unknown, screen: Screen): unknown {
  if (typeof value === 'string') {
    return screen.isTerminal && isTimestamp(value) ? sayTime(value, screen) : escapeLines(value);
  }
  if (Array.isArray(value)) return value.map((item) => toReadable(item, screen));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([name, item]) => [escapeLines(name), toReadable(item, screen)]));
}

/** Local time on a terminal, UTC elsewhere. */
export function sayTime(timestamp: string, { isTerminal }: Pick<Screen, 'isTerminal'>): string {
  return isTerminal ? formatLocalTime(Date.parse(timestamp)) : timestamp;
}

/** Formats a table with columns as wide as their widest cell. */
export function formatTable(heading: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = [heading, ...rows].map((row) => row.map(formatCell));
  const widths = heading.map((_, column) =>
    cells.reduce((widest, row) => Math.max(widest, widthOf(row[column] ?? '')), 0),
  );
  const pad = (cell: string, column: number) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell));
  return cells.map((row) => row.map(pad).join('  ').trimEnd()).join('\n');
}

function widthOf(text: string): number {
  return mapPlain(text, (plain) => plain, false).length;
}

function formatCell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return typeof value === 'object'
    ? toPrintableJson(value)
    : mapPlain(String(value), escapeUnprintable, true);
}

/** Formats one name and value per line. */
export function formatFacts(facts: Readonly<Record<string, unknown>>): string {
  const width = Math.max(...Object.keys(facts).map((name) => name.length));
  return Object.entries(facts)
    .map(([name, value]) => `${name.padEnd(width)}  ${formatCell(value)}`)
    .join('\n');
}
