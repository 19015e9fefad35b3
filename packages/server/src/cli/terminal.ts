import type { QrScreen } from '@berth/protocol/carried/qr-code';
import { describeScreen, emphasize, render, type Screen } from '@berth/protocol/console/console-text';
import { escapeLines, escapeUnprintable, toPrintableJson } from '@berth/protocol/hidden-characters';
import { readSecrets, type SecretPrompt } from './read-secrets.ts';

export { formatFacts, formatTable } from '@berth/protocol/console/console-text';

/** What a command writes to. Answers go to standard output, everything else to standard error. */
export interface Terminal extends QrScreen {
  /** Where answers go. */
  readonly screen: Screen;
  print(line: string): void;
  complain(line: string): void;
  /** A warning. */
  warn(line: string): void;
  /** Why the command failed. */
  fail(line: string): void;
  /** Prompts on a terminal, or reads standard input: one line per prompt. */
  readSecrets(prompts: readonly SecretPrompt[]): Promise<readonly string[]>;
}

type Env = Readonly<Record<string, string | undefined>>;
type Output = Pick<typeof process.stdout, 'write' | 'isTTY' | 'hasColors'> & { readonly columns?: number };

export function createTerminal(stdout: Output, stderr: Output, env: Env): Terminal {
  const screen = describeScreen(stdout, env);
  const errorScreen = describeScreen(stderr, env);
  const complain = (line: string) => void stderr.write(`${line}\n`);
  return {
    screen,
    // Names may contain control characters, so everything is escaped here.
    print: (line) => void stdout.write(`${render(line, screen)}\n`),
    complain: (line) => complain(escapeLines(line)),
    warn: (line) => complain(emphasize('yellow', line, errorScreen)),
    fail: (line) => complain(emphasize('red', line, errorScreen)),
    // A QR code contains no text from outside.
    draw: (picture) => void stdout.write(`${picture}\n`),
    get columns() {
      return stdout.isTTY === true ? (stdout.columns ?? null) : null;
    },
    readSecrets: (prompts) => readSecrets(prompts, process.stdin, (text) => stderr.write(text)),
  };
}

export const processTerminal = createTerminal(process.stdout, process.stderr, process.env);

/** Formats facts as `name=value` in one line. */
export function formatInline(facts: Readonly<Record<string, unknown>>): string {
  return Object.entries(facts)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${sayValue(value)}`)
    .join(' ');
}

/** A longer list would fill the screen, so only its length is shown. `--json` shows all of it. */
const LONGEST_SHOWN_LIST = 10;

function sayValue(value: unknown): string {
  if (Array.isArray(value) && value.length > LONGEST_SHOWN_LIST) return `(${value.length} in all)`;
  return typeof value === 'string' ? escapeUnprintable(value) : toPrintableJson(value);
}
