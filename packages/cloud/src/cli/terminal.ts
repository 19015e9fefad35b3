import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { createTerminal, type LogTerminal } from '@berth/shell/console/terminal';

export interface Terminal extends LogTerminal {
  /** Reads a secret from standard input, never from the command line, which every local user can see. */
  readSecret(prompt: string): Promise<string>;
}

export const processTerminal: Terminal = Object.assign(
  createTerminal(process.stdout, process.stderr, process.env),
  { readSecret },
);

/** Reads the first line. On a terminal it prompts and hides the input. */
async function readSecret(prompt: string): Promise<string> {
  const isTyped = process.stdin.isTTY === true;
  if (isTyped) process.stderr.write(prompt);
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output, terminal: isTyped });
  for await (const line of lines) {
    lines.close();
    if (isTyped) process.stderr.write('\n');
    return line;
  }
  return '';
}
