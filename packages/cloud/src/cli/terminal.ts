import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { QrScreen } from '@berth/protocol/carried/qr-code';
import { describeScreen, emphasize, render, type Screen } from '@berth/protocol/console/console-text';
import { escapeLines } from '@berth/protocol/hidden-characters';

export { formatFacts, formatTable } from '@berth/protocol/console/console-text';

/** What a command reads from and writes to. Answers go to standard output, all else to standard error. */
export interface Terminal extends QrScreen {
  /** Where answers go. */
  readonly screen: Screen;
  /** Where everything else goes. */
  readonly errorScreen: Screen;
  print(line: string): void;
  complain(line: string): void;
  /** Something that the reader should look at, though it is no reason to stop. */
  warn(line: string): void;
  /** Why nothing was done. */
  fail(line: string): void;
  /** A line of the log, which is fit to be shown as it is. */
  log(line: string): void;
  /** A secret from standard input: never from the command line, where every user of the machine sees it. */
  readSecret(prompt: string): Promise<string>;
}

const screen = describeScreen(process.stdout, process.env);
const errorScreen = describeScreen(process.stderr, process.env);
const complain = (line: string) => void process.stderr.write(`${line}\n`);

export const processTerminal: Terminal = {
  screen,
  errorScreen,
  // Names come from anybody, and a terminal obeys some characters: nothing gets past here as it is.
  print: (line) => void process.stdout.write(`${render(line, screen)}\n`),
  complain: (line) => complain(escapeLines(line)),
  warn: (line) => complain(emphasize('yellow', line, errorScreen)),
  fail: (line) => complain(emphasize('red', line, errorScreen)),
  log: complain,
  // Nothing in it comes from outside: it is black and white.
  draw: (picture) => void process.stdout.write(`${picture}\n`),
  get columns() {
    return process.stdout.isTTY === true ? process.stdout.columns : null;
  },
  readSecret,
};

/** The first line. On a terminal it is asked for, and not shown while it is typed. */
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
