#!/usr/bin/env node
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Compiled code is kept beside the packages it comes from, which halves the time of a start. It must be
// switched on
// before anything else is loaded; threads take it from the environment. Where the folder cannot be written,
// everything works without.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(
  new URL('../../../node_modules/.cache/berth', import.meta.url),
);
enableCompileCache(process.env.NODE_COMPILE_CACHE);

const { runCli } = await import('./cli/cli.ts');
const { processTerminal } = await import('./cli/terminal.ts');
const { importMasterKey, isExpected, moveStore, openStoppedServer, startServer, VERSION } = await import(
  './compose.ts'
);

process.exitCode = await runCli(process.argv.slice(2), {
  terminal: processTerminal,
  version: VERSION,
  startServer,
  openStoppedServer,
  importMasterKey,
  moveStore,
  isExpected,
});
