import { execFile } from 'node:child_process';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runCli as runCloud } from '@berth/cloud/cli/cli';
import { createTerminal } from '@berth/shell/console/terminal';
import { runCli as runServer } from '../../packages/server/src/cli/cli.ts';
import { readSecrets, type SecretPrompt } from '../../packages/server/src/cli/read-secrets.ts';
import { CLI_BACKEND } from '../../packages/server/src/main.ts';

const run = promisify(execFile);
const HOME = fileURLToPath(new URL('../..', import.meta.url));

/** A call of Berth, alone or in a pipeline. */
const CALL = /^(\S*\/berth) ([^;&<>]+)$/;

interface StepOptions {
  readonly env: NodeJS.ProcessEnv;
  /** Whether what goes to standard error counts as well. */
  readonly withErrors?: boolean;
}

interface Input extends Required<StepOptions> {
  readonly input: string;
}

/**
 * What a command of a page prints, in the current folder. Calls of Berth run in this process, which is
 * faster; a shell does the rest. A command may fail, and is part of the page all the same.
 */
export async function runStep(command: string, { env, withErrors = false }: StepOptions): Promise<string> {
  const parts = command.split(' | ');
  if (!parts.some((part) => CALL.test(part))) return runInShell(command, { env, withErrors, input: '' });
  let input = '';
  for (const [index, part] of parts.entries()) {
    const options = { env, withErrors: withErrors && index === parts.length - 1, input };
    const [, program, words = ''] = CALL.exec(part) ?? [];
    input = await (program === undefined ? runInShell(part, options) : runHere(program, words, options));
  }
  return input;
}

async function runInShell(command: string, { env, withErrors, input }: Input): Promise<string> {
  const line = withErrors ? `{ ${command}; } 2>&1 || true` : `${command} || true`;
  const running = run('bash', ['-c', line], { env });
  // A command that reads no input may end before the input is written.
  running.child.stdin?.on('error', () => {}).end(input);
  return (await running).stdout;
}

/** A shell reads the words that are more than words. */
async function splitWords(text: string, env: NodeJS.ProcessEnv): Promise<readonly string[]> {
  if (/^[\w.,:=@/ -]+$/.test(text)) return text.split(' ');
  return (await run('bash', ['-c', `printf '%s\\0' ${text}`], { env })).stdout.split('\0').slice(0, -1);
}

async function runHere(program: string, text: string, { env, withErrors, input }: Input): Promise<string> {
  const words = await splitWords(text, env);
  let printed = '';
  const write = (text: string | Uint8Array) => {
    printed += text;
  };
  const output = { isTTY: false, write };
  const terminal = {
    ...createTerminal(output, withErrors ? output : { isTTY: false, write: () => {} }, env),
    readSecret: async () => input.split('\n')[0] ?? '',
    readSecrets: (prompts: readonly SecretPrompt[]) =>
      readSecrets(prompts, Readable.from([Buffer.from(input)]), () => {}),
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
