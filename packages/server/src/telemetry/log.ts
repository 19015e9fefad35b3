import { escapeJsonText, escapeUnprintable, toPrintableJson } from '@berth/protocol/hidden-characters';
import { type Logger, pino } from 'pino';
import type { Config } from '../config.ts';

/**
 * The log. Lines name routes, never URLs: a URL may carry secrets. Standard output belongs to the ready line,
 * so everything goes to standard error.
 */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

const LABELLED = { formatters: { level: (label: string) => ({ level: label }) }, base: null };

export function createLog({ level, format }: Config['log']): Log {
  const isText = format === 'text' || (format === 'auto' && process.stderr.isTTY === true);
  const options = { ...LABELLED, level, timestamp: pino.stdTimeFunctions.isoTime };
  if (isText) return pino(options, { write: writeText });
  const lines = pino.destination({ dest: 2, sync: true });
  // A log is read on terminals, too.
  return pino(options, { write: (line: string) => lines.write(escapeJsonText(line)) });
}

/** A log for commands that print their own answer: only what went wrong. */
export function createQuietLog(): Log {
  return pino({ ...LABELLED, level: 'error' }, { write: writeText });
}

/** For people: time, level, sentence, then the facts. */
function writeText(line: string): void {
  const { level, time, msg, ...facts } = JSON.parse(line) as Record<string, unknown>;
  const rest = Object.entries(facts).map(([name, value]) => ` ${name}=${toPrintableJson(value)}`);
  const clock = typeof time === 'string' ? time.slice(11, 19) : '';
  process.stderr.write(`${clock} ${level} ${escapeUnprintable(String(msg))}${rest.join('')}\n`);
}
