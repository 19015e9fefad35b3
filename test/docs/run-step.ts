import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runCli as runCloud } from '@berth/cloud/cli/cli';
import { createTerminal } from '@berth/shell/console/terminal';
import { runCli as runServer } from '../../packages/server/src/cli/cli.ts';
import { CLI_BACKEND } from '../../packages/server/src/main.ts';

const run = promisify(execFile);
const HOME = fileURLToPath(new URL('../..', import.meta.url));

/** A call of Berth that needs no shell: the launcher, and words that are plain or in double quotes. */
const PLAIN = /^(\S*\/berth)((?: (?:[\w.,:=@/-]+|"[\w ]*"))+)$/;

interface StepOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Whether what goes to standard error counts as well. */
  readonly withErrors?: boolean;
}

/**
 * What a command of a page prints, in the current folder. Plain calls of Berth run in this process, which is
 * faster. A command may fail, and is part of the page all the same.
 */
export async function runStep(command: string, { env, withErrors = false }: StepOptions): Promise<string> {
  const [, program = '', rest = ''] = PLAIN.exec(command) ?? [];
  if (program !== '') return runHere(program, splitWords(rest), { env, withErrors });
  const line = withErrors ? `{ ${command}; } 2>&1 || true` : `${command} || true`;
  return (await run('bash', ['-c', line], { env })).stdout;
}

function splitWords(text: string): readonly string[] {
  return Array.from(text.matchAll(/"([^"]*)"|([^" ]+)/g), ([, quoted, plain]) => quoted ?? plain ?? '');
}

async function runHere(
  program: string,
  words: readonly string[],
  { env, withErrors }: Required<StepOptions>,
): Promise<string> {
  let printed = '';
  const write = (text: string | Uint8Array) => {
    printed += text;
  };
  const output = { isTTY: false, write };
  const terminal = {
    ...createTerminal(output, withErrors ? output : { isTTY: false, write: () => {} }, env),
    readSecret: async () => '',
    readSecrets: async () => [],
  };
  const place = { home: HOME, self: [], env, terminal };
  if (words[0] === 'cloud') await runCloud(words.slice(1), { ...place, program: `${program} cloud` });
  else await runServer(words, { ...CLI_BACKEND, ...place, program });
  return printed;
}

/** Makes it the current folder until the test is over. */
export function enterFolder(t: { after(work: () => void): void }, folder: string): void {
  const before = process.cwd();
  t.after(() => process.chdir(before));
  process.chdir(folder);
}
