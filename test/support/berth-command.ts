import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { environmentOf } from './stores/test-stores.ts';

const MAIN = fileURLToPath(new URL('../../packages/server/src/main.ts', import.meta.url));

/** A command that takes longer hangs. */
const COMMAND_TIMEOUT_MS = 60_000;

const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `berth WORDS` on a data folder, whether or not a server runs on it, with `input` to read. */
export async function runBerth(
  data: string,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
  input = '',
): Promise<CommandResult> {
  const args = [MAIN, ...words, '--data', data];
  const options = {
    env: { ...process.env, ...(await environmentOf(data)), ...env },
    timeout: COMMAND_TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
  };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, options, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
    // A command that reads nothing may be gone before it is told anything.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/** The same with `--json`, read; a command that fails is an error. */
export async function askBerth<T>(
  data: string,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<T> {
  const { code, stdout, stderr } = await runBerth(data, [...words, '--json'], env);
  if (code !== 0) throw new Error(`berth ${words.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}
