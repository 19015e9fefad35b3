import { execFile } from 'node:child_process';
import { Readable } from 'node:stream';
import { createTerminal } from '@berth/shell/console/terminal';
import { runCli } from '../../packages/server/src/cli/cli.ts';
import { readSecrets, type SecretPrompt } from '../../packages/server/src/cli/read-secrets.ts';
import { CLI_BACKEND } from '../../packages/server/src/main.ts';
import { BERTH } from './program.ts';
import { environmentOf } from './stores/test-stores.ts';

/** A command that takes longer hangs. */
const COMMAND_TIMEOUT_MS = 60_000;

/** A busy machine must not look like a server that hangs. */
const ANSWER_LIMIT_MS = 30_000;

const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Commands that run until stopped, or do not write through the terminal. */
const NEED_A_PROCESS = /^(events|audit export(?!.* --out ))( |$)/;

type Env = Readonly<Record<string, string>>;

/**
 * Runs `berth WORDS` on a data folder, with or without a running server, and with `input` as standard input.
 * Most commands run in this process, which is faster; a faked clock needs a separate process. `serve` is for
 * servers that refuse to start: any other is stopped when it is ready.
 */
export async function runBerth(
  data: string,
  words: readonly string[],
  env: Env = {},
  input: string | Readable = '',
  answerLimitMs = ANSWER_LIMIT_MS,
): Promise<CommandResult> {
  const needsProcess = NEED_A_PROCESS.test(words.join(' ')) || 'LD_PRELOAD' in env;
  if (needsProcess && typeof input === 'string') return spawnBerth(data, words, env, input);
  const stdout = new Recorder();
  const stderr = new Recorder();
  const all = { ...process.env, ...(await environmentOf(data)), ...env };
  const code = await runCli([...words, '--data', data], {
    ...CLI_BACKEND,
    program: 'berth',
    home: process.cwd(),
    self: [BERTH.file, ...BERTH.args],
    env: all,
    answerLimitMs,
    terminal: Object.assign(createTerminal(stdout, stderr, all), {
      readSecrets: (prompts: readonly SecretPrompt[]) =>
        readSecrets(
          prompts,
          typeof input === 'string' ? Readable.from([Buffer.from(input)]) : input,
          (text) => stderr.write(text),
        ),
    }),
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

class Recorder {
  text = '';
  readonly isTTY = false;
  readonly hasColors = () => false;
  write(text: string | Uint8Array): boolean {
    this.text += text;
    if (/^berth listening on /m.test(this.text)) process.emit('SIGTERM');
    return true;
  }
}

/** The same in a separate process. */
export async function spawnBerth(
  data: string,
  words: readonly string[],
  env: Env = {},
  input = '',
): Promise<CommandResult> {
  const args = [...BERTH.args, ...words, '--data', data];
  const options = {
    env: { ...process.env, ...(await environmentOf(data)), ...env },
    timeout: COMMAND_TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
  };
  return new Promise((resolve) => {
    const child = execFile(BERTH.file, args, options, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
    // A command that reads no input may exit before the input is written.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/** The same with `--json`, parsed. Throws if the command fails, except for the status of a stopped server. */
export async function askBerth<T>(
  data: string,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<T> {
  const { code, stdout, stderr } = await runBerth(data, [...words, '--json'], env);
  const isStopped = words[0] === 'status' && stdout.includes('"url": null');
  if (code !== 0 && !isStopped) throw new Error(`berth ${words.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

/** The values that "config --json" shows. */
export function readConfig(stdout: string): Readonly<Record<string, unknown>> {
  const { settings } = JSON.parse(stdout) as { settings: readonly { name: string; value: unknown }[] };
  return Object.fromEntries(settings.map(({ name, value }) => [name, value]));
}
