import { isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';
import { type Launch, launchExecutable } from './executable.ts';
import { findOrigin } from './origin.ts';

/** The only file that knows both programs: runs `berth …`, or `berth cloud …` and `berth help cloud …`. */
export async function run(words: readonly string[], launch: Launch): Promise<void> {
  const [first, second, ...rest] = words;
  if (first === 'help' && second === 'cloud') return run(['cloud', 'help', ...rest], launch);
  const { program, home } = launch;
  if (first === 'cloud') {
    const { main } = await import('../packages/cloud/src/main.ts');
    return main(words.slice(1), { program: `${program} cloud`, home, findOrigin });
  }
  const { main } = await import('../packages/server/src/main.ts');
  const code = isSea() ? [] : [fileURLToPath(import.meta.url)];
  return main(words, { program, home, self: [process.execPath, ...code], findOrigin, loadCloud });
}

/** What a shell completes after `berth cloud`. */
async function loadCloud() {
  const { ENTRIES } = await import('../packages/cloud/src/cli/usage.ts');
  const { FLAGS } = await import('../packages/cloud/src/cli/command.ts');
  return { commands: ENTRIES, options: FLAGS, flagsBeside: () => ['data', 'json', 'help'], choices: {} };
}

if (import.meta.main) {
  const launch = isSea() ? launchExecutable() : { program: 'berth', home: process.cwd() };
  void run(process.argv.slice(2), launch);
}
