import { escapeJsonText, escapeUnprintable, toPrintableJson } from '@berth/protocol/hidden-characters';
import { paint, type Screen, type Style, sayTime } from './console-text.ts';

/** The server and the cloud write the same lines, so that one reader understands both. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** `auto` is text on a terminal and JSON elsewhere. */
export const LOG_FORMATS = ['auto', 'json', 'text'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

/** One line of JSON: level, time (UTC), facts, and the message as `msg`. */
export function writeLogLine(
  level: LogLevel,
  time: string,
  facts: Readonly<Record<string, unknown>>,
  msg: string,
): string {
  return JSON.stringify({ level, time, ...facts, msg });
}

const LEVEL_STYLES: Partial<Record<string, Style>> = { debug: 'dim', warn: 'yellow', error: 'red' };
const LEVEL_WIDTH = Math.max(...LOG_LEVELS.map((level) => level.length));

/**
 * Formats a line of JSON as it is, or as text: time, level, message, facts. `rewrite` adapts the message to
 * the reader.
 */
export function formatLogLine(
  json: string,
  format: LogFormat,
  screen: Screen,
  rewrite = (msg: string) => msg,
): string {
  const isText = format === 'text' || (format === 'auto' && screen.isTerminal);
  // Logs are also read on terminals.
  if (!isText) return escapeJsonText(json);
  const { level, time, msg, ...facts } = JSON.parse(json) as Record<string, unknown>;
  const rest = Object.entries(facts).map(([name, value]) => ` ${name}=${toPrintableJson(value)}`);
  const at = typeof time === 'string' ? `${sayTime(time, screen)} ` : '';
  const style = LEVEL_STYLES[String(level)];
  const word = String(level).padEnd(LEVEL_WIDTH);
  const shown = style === undefined || !screen.hasColor ? word : paint(style, word);
  return `${at}${shown} ${escapeUnprintable(rewrite(String(msg)))}${rest.join('')}`;
}
