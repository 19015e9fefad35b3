import { describeScreen } from '@berth/shell/console/console-text';
import { formatLogLine, type LogFormat } from '@berth/shell/console/log-line';
import { type Logger, pino } from 'pino';
import type { Config } from '../config.ts';

/**
 * The log. Lines name routes, never URLs, which may contain secrets. Standard output is for the ready line,
 * so everything goes to standard error.
 */
export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

const LABELLED = {
  formatters: { level: (label: string) => ({ level: label }) },
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
};

interface LogOptions {
  /** Adapts messages to the reader. */
  readonly rewrite?: ((msg: string) => string) | undefined;
  /** Gets every line that is written, as JSON. */
  readonly keep?: (line: string) => void;
}

export function createLog({ level, format }: Config['log'], options: LogOptions): Log {
  const lines = pino.destination({ dest: 2, sync: true });
  // The reader of the log may exit first, such as a closed terminal.
  lines.on('error', () => {});
  return openLog(level, format, (text) => lines.write(text), options);
}

/** A log for commands that print their own answer: errors only. */
export function createQuietLog(): Log {
  return openLog('error', 'text', (text) => process.stderr.write(text));
}

function openLog(
  level: string,
  format: LogFormat,
  write: (text: string) => void,
  { rewrite, keep }: LogOptions = {},
): Log {
  const screen = describeScreen(process.stderr, process.env);
  const destination = {
    write(line: string) {
      const json = line.trimEnd();
      keep?.(json);
      write(`${formatLogLine(json, format, screen, rewrite)}\n`);
    },
  };
  return pino({ ...LABELLED, level }, destination);
}
