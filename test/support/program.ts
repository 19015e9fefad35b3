import { fileURLToPath } from 'node:url';

// Also for a test file that runs on its own: its processes share compiled code.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../../node_modules/.cache/berth', import.meta.url));

const SOURCES = fileURLToPath(new URL('../../bin/main.ts', import.meta.url));

const { TEST_PROGRAM = SOURCES } = process.env;

/** How to start the Berth under test: the bundle that the runner made, an executable, or the sources. */
export const BERTH: { readonly file: string; readonly args: readonly string[] } = /\.c?[jt]s$/.test(
  TEST_PROGRAM,
)
  ? { file: process.execPath, args: [TEST_PROGRAM] }
  : { file: TEST_PROGRAM, args: [] };
