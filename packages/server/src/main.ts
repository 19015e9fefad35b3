#!/usr/bin/env node
import { runCli } from './cli/cli.ts';
import { openStoppedServer, StartError, startServer } from './compose.ts';

process.exitCode = await runCli(process.argv.slice(2), { startServer, openStoppedServer, isStartError });

function isStartError(error: unknown): boolean {
  return error instanceof StartError;
}
