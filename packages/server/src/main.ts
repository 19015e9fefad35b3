#!/usr/bin/env node
import { runCli } from './cli/cli.ts';
import { isExpected, openStoppedServer, startServer, VERSION } from './compose.ts';

process.exitCode = await runCli(process.argv.slice(2), {
  version: VERSION,
  startServer,
  openStoppedServer,
  isExpected,
});
