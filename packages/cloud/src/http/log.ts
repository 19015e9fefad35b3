import { toPrintableJson } from '@berth/protocol/hidden-characters';

/** Lines of JSON, one for each thing worth telling. Facts are chosen by hand: no URL, no body, no header. */
export interface Log {
  write(level: 'info' | 'warn' | 'error', message: string, facts: Readonly<Record<string, unknown>>): void;
}

export function createLog(writeLine: (line: string) => void, readWallMs: () => number): Log {
  return {
    write(level, message, facts) {
      const time = new Date(readWallMs()).toISOString();
      writeLine(toPrintableJson({ time, level, message, ...facts }));
    },
  };
}
