import { escapeLines } from '@berth/protocol/hidden-characters';
import { describeScreen, emphasize, render, type Screen } from './console-text.ts';

/** What a command writes to. Answers go to standard output, everything else to standard error. */
export interface Terminal {
  /** The width of a terminal; `null` for a file or a pipe. */
  readonly columns: number | null;
  /** Where answers go. */
  readonly screen: Screen;
  print(line: string): void;
  complain(line: string): void;
  /** A warning. */
  warn(line: string): void;
  /** Why the command failed. */
  fail(line: string): void;
  /** Writes a picture as it is, colours and all. */
  draw(picture: string): void;
}

/** A terminal that a log is written to as well. */
export interface LogTerminal extends Terminal {
  /** Where everything but answers goes. */
  readonly errorScreen: Screen;
  /** A line of the log, which is fit to be shown as it is. */
  log(line: string): void;
}

type Output = Parameters<typeof describeScreen>[0] & {
  readonly columns?: number;
  write(text: string): unknown;
};

export function createTerminal(
  stdout: Output,
  stderr: Output,
  env: Parameters<typeof describeScreen>[1],
): LogTerminal {
  const screen = describeScreen(stdout, env);
  const errorScreen = describeScreen(stderr, env);
  const log = (line: string) => void stderr.write(`${line}\n`);
  return {
    screen,
    errorScreen,
    // Names may contain control characters, so everything is escaped here.
    print: (line) => void stdout.write(`${render(line, screen)}\n`),
    complain: (line) => log(escapeLines(line)),
    warn: (line) => log(emphasize('yellow', line, errorScreen)),
    fail: (line) => log(emphasize('red', line, errorScreen)),
    log,
    // A QR code contains no text from outside.
    draw: (picture) => void stdout.write(`${picture}\n`),
    get columns() {
      return stdout.isTTY === true ? (stdout.columns ?? null) : null;
    },
  };
}
