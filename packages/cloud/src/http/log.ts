import { formatTimestamp } from '@berth/protocol/timestamp';
import type { Screen } from '@berth/shell/console/console-text';
import {
  formatLogLine,
  LOG_LEVELS,
  type LogFormat,
  type LogLevel,
  writeLogLine,
} from '@berth/shell/console/log-line';

/** Writes one line per event. Facts are chosen by hand: no URL, no body, no header. */
export interface Log {
  write(level: LogLevel, message: string, facts: Readonly<Record<string, unknown>>): void;
}

interface LogOptions {
  /** The least severe level that is written. */
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly screen: Screen;
  readonly writeLine: (line: string) => void;
  readonly readWallMs: () => number;
}

export function createLog({ level: least, format, screen, writeLine, readWallMs }: LogOptions): Log {
  return {
    write(level, message, facts) {
      if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(least)) return;
      const json = writeLogLine(level, formatTimestamp(readWallMs()), facts, message);
      writeLine(formatLogLine(json, format, screen));
    },
  };
}
