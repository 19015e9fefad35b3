import type { FlagValues } from './command-flags.ts';
import type { CommandUsage } from './command-help.ts';
import {
  type CommandLine,
  explainUsage,
  type Given,
  readCommandLine,
  readFlags,
  UsageError,
} from './command-line.ts';
import { createCallOf, type Hints, type Messages, withHints } from './hints.ts';

export const EXIT_OK = 0;
export const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

interface Printing extends Messages {
  print(text: string): void;
}

interface Program<C extends CommandUsage, T extends Printing> {
  readonly line: CommandLine<C>;
  readonly terminal: T;
  /** Flags that hints repeat, because they say where the data is. */
  carry(flags: FlagValues): Readonly<Record<string, string | undefined>>;
  /** Returns the exit code. The terminal rewrites the commands in its messages. */
  run(given: Given<C>, terminal: T, hints: Hints): Promise<number>;
  /** Whether the message of an error says all that a person needs; any other is a bug. */
  isExpected(error: unknown): boolean | Promise<boolean>;
  /** Whether an error is about a value on the command line or in the settings. */
  isWrongValue(error: unknown): boolean;
}

/** Runs one command and returns its exit code: 0 done, 1 refused or failed, 2 wrong usage. */
export async function runCommandLine<C extends CommandUsage, T extends Printing>(
  argv: readonly string[],
  { line, terminal, carry, run, isExpected, isWrongValue }: Program<C, T>,
): Promise<number> {
  const commands = line.commands.map(({ words }) => words);
  const hints = {
    name: line.name,
    commands,
    callOf: createCallOf(line.program, carry(readFlags(line, argv))),
  };
  const hinting = withHints(terminal, hints);
  try {
    const read = readCommandLine(line, argv);
    if (read.kind === 'run') return await run(read, hinting, hints);
    terminal.print(read.text);
    return read.isAsked ? EXIT_OK : EXIT_USAGE;
  } catch (error) {
    if (error instanceof UsageError) {
      // A usage says by itself how the program is called.
      terminal.complain(explainUsage(line, argv, error));
      return EXIT_USAGE;
    }
    hinting.fail((await isExpected(error)) ? (error as Error).message : describeBug(error));
    return isWrongValue(error) ? EXIT_USAGE : EXIT_FAILED;
  }
}

function describeBug(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
