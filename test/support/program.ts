import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// Also for a test file that runs on its own: its processes share compiled code.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../../node_modules/.cache/berth', import.meta.url));

const SOURCES = fileURLToPath(new URL('../../bin/main.ts', import.meta.url));

const { TEST_PROGRAM = SOURCES, TEST_FILES } = process.env;

// A server in the test's process starts its threads from the runner's bundle, which takes half the time, and
// sends the page that the runner built.
if (TEST_FILES !== undefined) {
  Object.assign(globalThis, { BUNDLED_FILES: JSON.parse(readFileSync(TEST_FILES, 'utf8')) });
}

/** How a Berth is started: a bundle, an executable, or the sources. */
export interface Program {
  readonly file: string;
  readonly args: readonly string[];
}

export function findProgram(path: string): Program {
  return /\.c?[jt]s$/.test(path) ? { file: process.execPath, args: [path] } : { file: path, args: [] };
}

/** The Berth under test: the bundle that the runner made, unless it was told otherwise. */
export const BERTH = findProgram(TEST_PROGRAM);
