import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CACHE, findNode, OWN_PLATFORM } from './pinned-node.ts';

/** It takes a second or two. */
const COMPILE_TIMEOUT_MS = 60_000;

/**
 * With these flags V8 compiles the same code to the same bytes: fixed hashes, no collection of garbage (it
 * leaves marks in what is kept), and no compilation in the background.
 */
export const COMPILE_FLAGS = [
  '--hash-seed=1',
  '--no-flush-bytecode',
  '--initial-heap-size=1024',
  '--min-semi-space-size=256',
  '--no-sparkplug',
  '--no-maglev',
  '--no-opt',
];

/** Without them, a process finds no folder for temporary files, and none of Windows. */
const KEPT_VARIABLES = /^(PATH|TEMP|TMP|TMPDIR|SystemRoot)$/i;

/** Runs the program in a folder to compile it, and returns the files with the compiled code by name. */
export function compileProgram(assets: string): Readonly<Record<string, string>> {
  const [command, server] = [join(CACHE, 'command.compiled'), join(CACHE, 'server.compiled')];
  runToCompile('compile-program.ts', assets, command, server);
  for (const file of [command, server]) runToCompile('number-functions.ts', join(assets, 'program.js'), file);
  return { 'command.compiled': command, 'server.compiled': server };
}

/**
 * Runs a script of this folder with the flags. What a process finds around itself decides which functions are
 * compiled, and before ours, so it is always the same.
 */
export function runToCompile(script: string, ...words: readonly string[]): void {
  const given = Object.entries(process.env).filter(([name]) => KEPT_VARIABLES.test(name));
  const file = fileURLToPath(new URL(script, import.meta.url));
  execFileSync(findNode(OWN_PLATFORM), [...COMPILE_FLAGS, file, ...words], {
    cwd: dirname(file),
    env: Object.fromEntries(given),
    stdio: 'pipe',
    timeout: COMPILE_TIMEOUT_MS,
  });
}
