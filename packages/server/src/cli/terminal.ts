import { createTerminal, type Terminal as Screens } from '@berth/protocol/console/terminal';
import { escapeUnprintable, toPrintableJson } from '@berth/protocol/hidden-characters';
import { readSecrets, type SecretPrompt } from './read-secrets.ts';

export interface Terminal extends Screens {
  /** Asks a person, or takes what standard input holds: a line for each. */
  readSecrets(prompts: readonly SecretPrompt[]): Promise<readonly string[]>;
}

export const processTerminal: Terminal = Object.assign(
  createTerminal(process.stdout, process.stderr, process.env),
  {
    readSecrets: (prompts: readonly SecretPrompt[]) =>
      readSecrets(prompts, process.stdin, (text) => process.stderr.write(text)),
  },
);

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
