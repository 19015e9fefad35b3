import { fileURLToPath } from 'node:url';

// Also for a test file that runs on its own: its processes share compiled code.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../../node_modules/.cache/berth', import.meta.url));

const SOURCES = fileURLToPath(new URL('../../bin/main.ts', import.meta.url));

/** How to start the Berth under test: the bundle that the test runner made, otherwise the sources. */
export const BERTH: { readonly file: string; readonly args: readonly string[] } = {
  file: process.execPath,
  args: [process.env.TEST_PROGRAM ?? SOURCES],
};
