import type { ReadStream } from 'node:tty';

/** A line to ask for. */
export interface SecretPrompt {
  readonly text: string;
  /** It is a new secret, so it is typed twice. */
  readonly isNew?: boolean;
  /**
   * Set for a code, which is not secret and may have several lines: it is shown while it is typed, and ends
   * when this returns `true` or after an empty line. A code is the only prompt of its command.
   */
  isWhole?(typed: string): boolean;
}

/** The input cannot be used; the message says why. */
export class InputError extends Error {}

interface Input extends AsyncIterable<Uint8Array> {
  readonly isTTY?: boolean;
}

/** Secrets have a few hundred characters. */
const MAX_INPUT_BYTES = 16 * 1024;

/** Reads one line per prompt: without an echo on a terminal, as it is from a pipe or file. */
export async function readSecrets(
  prompts: readonly SecretPrompt[],
  input: Input,
  ask: (text: string) => void,
): Promise<readonly string[]> {
  if (prompts.length === 0) return [];
  if (input.isTTY !== true) return readLines(input, prompts);
  const lines: string[] = [];
  for (const prompt of prompts) {
    lines.push(await askFor(input as unknown as ReadStream, prompt, ask));
    if (prompt.isNew !== true) continue;
    const repeated = { text: `${prompt.text}, once more` };
    const again = await askFor(input as unknown as ReadStream, repeated, ask);
    if (again !== lines.at(-1)) throw new InputError('The entries do not match. Nothing was done.');
  }
  return lines;
}

/** One line per prompt; a missing line is empty. A code is the whole input. */
async function readLines(input: Input, prompts: readonly SecretPrompt[]): Promise<readonly string[]> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of input) {
    bytes = Buffer.concat([bytes, chunk]);
    if (bytes.length > MAX_INPUT_BYTES) throw new InputError('The input is too long.');
    const text = bytes.toString('utf8');
    if (text.split('\n').length > prompts.length && isEnough(text, prompts[0])) break;
  }
  const text = bytes.toString('utf8');
  if (prompts[0]?.isWhole !== undefined) return [text];
  const lines = text.split(/\r?\n/);
  return prompts.map((_, index) => lines[index] ?? '');
}

function isEnough(text: string, prompt: SecretPrompt | undefined): boolean {
  if (prompt?.isWhole === undefined || prompt.isWhole(text)) return true;
  const plain = text.replaceAll('\r', '');
  return plain === '\n' || plain.endsWith('\n\n');
}

const CONTROL_C = '\u0003';
const CONTROL_D = '\u0004';
const BACKSPACES = ['\b', '\u007f'];

type Ask = (text: string) => void;

async function askFor(input: ReadStream, prompt: SecretPrompt, ask: Ask): Promise<string> {
  // Before the prompt, so that early typing is not echoed either.
  input.setRawMode(true);
  ask(prompt.isWhole === undefined ? `${prompt.text}: ` : `${prompt.text}:\n`);
  input.resume();
  try {
    return await readTyped(input, prompt, ask);
  } finally {
    input.setRawMode(false);
    input.pause();
    ask('\n');
  }
}

/** Reads until the line ends, or the last line of a code. */
function readTyped(input: ReadStream, prompt: SecretPrompt, ask: Ask): Promise<string> {
  const typed: string[] = [];
  const isShown = prompt.isWhole !== undefined;
  return new Promise((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      for (const letter of chunk.toString('utf8')) {
        if (letter === CONTROL_C) return end(() => reject(new InputError('Nothing was done.')));
        const isLineEnd = letter === '\r' || letter === '\n';
        const written = isLineEnd ? '\n' : letter;
        if (letter === CONTROL_D || (isLineEnd && isEnough(`${typed.join('')}\n`, prompt))) {
          return end(() => resolve(typed.join('')));
        }
        if (BACKSPACES.includes(letter)) {
          if (typed.at(-1) !== '\n' && typed.pop() !== undefined && isShown) ask('\b \b');
        } else if (!isShown || written >= ' ' || isLineEnd) {
          typed.push(written);
          if (isShown) ask(written);
        }
      }
    };
    const end = (settle: () => void) => {
      input.off('data', hear);
      settle();
    };
    input.on('data', hear);
  });
}
