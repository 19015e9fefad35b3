#!/usr/bin/env node
import { runCli } from './cli/cli.ts';
import { isExpected, openStoppedServer, startServer } from './compose.ts';

process.exitCode = await runCli(process.argv.slice(2), { startServer, openStoppedServer, isExpected });
