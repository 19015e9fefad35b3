import manifest from '../package.json' with { type: 'json' };
import { type CliBackend, type CliDependencies, runCli } from './cli/cli.ts';
import { processTerminal } from './cli/terminal.ts';

/** How Berth was started, as determined by `bin/`. */
type Launch = Pick<CliDependencies, 'program' | 'home' | 'self' | 'findOrigin' | 'loadCloud'>;

const loadServer = () => import('./compose/compose.ts');
const loadStore = () => import('./compose/compose-store.ts');

/** What the command line can ask of the house. Each part is loaded when a command needs it. */
export const CLI_BACKEND: CliBackend = {
  version: manifest.version,
  startServer: async (options) => (await import('./compose/start-server.ts')).startServer(options),
  async openStoppedServer(config, env) {
    if ((await loadStore()).isTaken({ config, env })) return null;
    return (await loadServer()).openStoppedServer(config, env);
  },
  importMasterKey: async (...args) => (await loadServer()).importMasterKey(...args),
  moveStore: async (...args) => (await import('./compose/compose-move.ts')).moveStore(...args),
  examineSurroundings: async (place) =>
    (await import('./compose/compose-doctor.ts')).examineSurroundings(place),
  restoreBackup: async (...args) => (await import('./compose/compose-restore.ts')).restoreBackup(...args),
  describeHolder: async (folder) => (await loadServer()).describeHolder(folder),
  isExpected: async (error) => (await loadServer()).isExpected(error),
};

export async function main(argv: readonly string[], launch: Launch): Promise<void> {
  const env = process.env;
  process.exitCode = await runCli(argv, { ...launch, ...CLI_BACKEND, env, terminal: processTerminal });
}
