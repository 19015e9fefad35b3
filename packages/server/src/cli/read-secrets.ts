import type { ReadStream } from 'node:tty';

/** A line that a person is asked for. */
export interface SecretPrompt {
  readonly text: string;
  /** Somebody makes it up now, so a slip of the finger has to be noticed. */
  readonly isNew?: boolean;
}

/** The answers cannot be used; the message says why. */
export class InputError extends Error {}

interface Input extends AsyncIterable<Uint8Array> {
  readonly isTTY?: boolean;
}

/** Secrets are a few hundred characters. */
const MAX_INPUT_BYTES = 16 * 1024;

/** One line for each prompt: typed without an echo on a terminal, taken as it comes from anything else. */
export async function readSecrets(
  prompts: readonly SecretPrompt[],
  input: Input,
  ask: (text: string) => void,
): Promise<readonly string[]> {
  if (prompts.length === 0) return [];
  if (input.isTTY !== true) return readLines(input, prompts.length);
  const lines: string[] = [];
  for (const { text, isNew } of prompts) {
    lines.push(await askFor(input as unknown as ReadStream, text, ask));
    if (isNew !== true) continue;
    const again = await askFor(input as unknown as ReadStream, `${text}, once more`, ask);
    if (again !== lines.at(-1)) throw new InputError('The two do not match. Nothing was done.');
  }
  return lines;
}

/** As many lines as are asked for; one that is missing is empty. */
async function readLines(input: Input, count: number): Promise<readonly string[]> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of input) {
    bytes = Buffer.concat([bytes, chunk]);
    if (bytes.length > MAX_INPUT_BYTES) throw new InputError('Standard input holds too much.');
    if (bytes.filter((byte) => byte === NEWLINE).length >= count) break;
  }
  const lines = bytes.toString('utf8').split(/\r?\n/);
  return Array.from({ length: count }, (_, index) => lines[index] ?? '');
}

const NEWLINE = 10;

const CONTROL_C = '\u0003';
const CONTROL_D = '\u0004';
const BACKSPACES = ['\b', '\u007f'];

async function askFor(input: ReadStream, text: string, ask: (text: string) => void): Promise<string> {
  // Before anybody is asked: whoever types at once must not be shown either.
  input.setRawMode(true);
  ask(`${text}: `);
  input.resume();
  try {
    return await readTyped(input);
  } finally {
    input.setRawMode(false);
    input.pause();
    ask('\n');
  }
}

/** What is typed until the line ends. */
function readTyped(input: ReadStream): Promise<string> {
  const typed: string[] = [];
  return new Promise((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      for (const letter of chunk.toString('utf8')) {
        if (letter === CONTROL_C) return end(() => reject(new InputError('Nothing was done.')));
        if (letter === '\r' || letter === '\n' || letter === CONTROL_D) {
          return end(() => resolve(typed.join('')));
        }
        if (BACKSPACES.includes(letter)) typed.pop();
        else typed.push(letter);
      }
    };
    const end = (settle: () => void) => {
      input.off('data', hear);
      settle();
    };
    input.on('data', hear);
  });
}
