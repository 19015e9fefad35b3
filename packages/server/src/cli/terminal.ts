import { escapeUnprintable, toPrintableJson } from '@berth/protocol/hidden-characters';
import { createTerminal, type Terminal as Screens } from '@berth/shell/console/terminal';
import { readSecrets, type SecretPrompt } from './read-secrets.ts';

export interface Terminal extends Screens {
  /** Prompts on a terminal, or reads standard input: one line per prompt. */
  readSecrets(prompts: readonly SecretPrompt[]): Promise<readonly string[]>;
}

export const processTerminal: Terminal = Object.assign(
  createTerminal(process.stdout, process.stderr, process.env),
  {
    readSecrets: (prompts: readonly SecretPrompt[]) =>
      readSecrets(prompts, process.stdin, (text) => process.stderr.write(text)),
  },
);

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

/** Writes to standard output as it is, and waits until it is written. */
export function printText(text: Uint8Array | string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error == null ? resolve() : reject(error)));
  });
}
