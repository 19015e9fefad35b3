import type { QrScreen } from '@berth/protocol/carried/qr-code';
import { describeScreen, emphasize, render, type Screen } from '@berth/protocol/console/console-text';
import { escapeLines, escapeUnprintable, toPrintableJson } from '@berth/protocol/hidden-characters';
import { type Input, readSecrets, type SecretPrompt } from './read-secrets.ts';

export { formatFacts, formatTable } from '@berth/protocol/console/console-text';

/** What a command writes to. Answers go to standard output, everything else to standard error. */
export interface Terminal extends QrScreen {
  /** Where answers go. */
  readonly screen: Screen;
  print(line: string): void;
  complain(line: string): void;
  /** Something that the reader should look at, though it is no reason to stop. */
  warn(line: string): void;
  /** Why nothing was done. */
  fail(line: string): void;
  /** Asks a person, or takes what standard input holds: a line for each. */
  readSecrets(prompts: readonly SecretPrompt[]): Promise<readonly string[]>;
}

type Env = Readonly<Record<string, string | undefined>>;
type Output = Pick<typeof process.stdout, 'write' | 'isTTY' | 'hasColors'> & { readonly columns?: number };

export function createTerminal(stdout: Output, stderr: Output, stdin: Input, env: Env): Terminal {
  const screen = describeScreen(stdout, env);
  const errorScreen = describeScreen(stderr, env);
  const complain = (line: string) => void stderr.write(`${line}\n`);
  return {
    screen,
    // Names come from anybody, and a terminal obeys some characters: nothing gets past here as it is.
    print: (line) => void stdout.write(`${render(line, screen)}\n`),
    complain: (line) => complain(escapeLines(line)),
    warn: (line) => complain(emphasize('yellow', line, errorScreen)),
    fail: (line) => complain(emphasize('red', line, errorScreen)),
    // Nothing in it comes from outside: it is black and white.
    draw: (picture) => void stdout.write(`${picture}\n`),
    get columns() {
      return stdout.isTTY === true ? (stdout.columns ?? null) : null;
    },
    readSecrets: (prompts) => readSecrets(prompts, stdin, (text) => stderr.write(text)),
  };
}

export const processTerminal = createTerminal(process.stdout, process.stderr, process.stdin, process.env);

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
