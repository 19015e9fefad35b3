import { runCli } from './cli/cli.ts';
import { processTerminal } from './cli/terminal.ts';

/** How the cloud was started, which `bin/berth.js` finds out. */
interface Launch {
  /** What the caller types, such as `./berth cloud`. */
  readonly program: string;
  /** The folder in which `./cloud-data` is when nobody names another. */
  readonly home: string;
}

export async function main(argv: readonly string[], launch: Launch): Promise<void> {
  // Whoever reads the log may go away before us; that must not end the cloud.
  process.stderr.on('error', () => {});
  process.exitCode = await runCli(argv, { ...launch, env: process.env, terminal: processTerminal });
}

if (import.meta.main) await main(process.argv.slice(2), { program: 'cloud', home: process.cwd() });
