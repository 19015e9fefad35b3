import type { Origin } from '@berth/shell/console/command-line';
import { runCli } from './cli/cli.ts';
import { processTerminal } from './cli/terminal.ts';

/** How the cloud was started, as determined by `bin/`. */
interface Launch {
  /** The command as the user typed it, such as `./berth cloud`. */
  readonly program: string;
  /** The folder of the default `./cloud-data`. */
  readonly home: string;
  readonly findOrigin: () => Origin | null;
}

export async function main(argv: readonly string[], launch: Launch): Promise<void> {
  // The reader of the log may exit first; that must not stop the cloud.
  process.stderr.on('error', () => {});
  process.exitCode = await runCli(argv, { ...launch, env: process.env, terminal: processTerminal });
}
