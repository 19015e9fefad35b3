#!/usr/bin/env node
import { runCli } from './cli/cli.ts';
import { processTerminal } from './cli/terminal.ts';

// Whoever reads the log may go away before us; that must not end the cloud.
process.stderr.on('error', () => {});

process.exitCode = await runCli(process.argv.slice(2), { env: process.env, terminal: processTerminal });
