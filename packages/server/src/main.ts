import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import manifest from '../package.json' with { type: 'json' };
import type { House } from './cli/cli.ts';

/** How Berth was started, which `bin/berth.js` finds out. */
interface Launch {
  /** What the caller types, such as `./berth`. */
  readonly program: string;
  /** The folder in which `./data` and `./berth.yaml` are looked for when nobody names others. */
  readonly home: string;
}

const loadServer = () => import('./compose/compose.ts');
const loadStore = () => import('./compose/compose-store.ts');

/** What the command line can ask of the house. Each part is loaded when a command needs it. */
export const HOUSE: House = {
  version: manifest.version,
  startServer: async (options) => (await loadServer()).startServer(options),
  async openStoppedServer(config, env) {
    if ((await loadStore()).isTaken({ config, env })) return null;
    return (await loadServer()).openStoppedServer(config, env);
  },
  importMasterKey: async (...args) => (await loadServer()).importMasterKey(...args),
  moveStore: async (...args) => (await import('./compose/compose-move.ts')).moveStore(...args),
  describeHolder: async (folder) => (await loadServer()).describeHolder(folder),
  isExpected: async (error) => (await loadServer()).isExpected(error),
};

export async function main(argv: readonly string[], launch: Launch): Promise<void> {
  // Compiled code is kept beside the packages it comes from, which halves the time of a start. It must be
  // switched on before anything else is loaded; threads take it from the environment. Where the folder cannot
  // be written, everything works without.
  process.env.NODE_COMPILE_CACHE ??= fileURLToPath(
    new URL('../../../node_modules/.cache/berth', import.meta.url),
  );
  enableCompileCache(process.env.NODE_COMPILE_CACHE);
  const [{ runCli }, { processTerminal }] = await Promise.all([
    import('./cli/cli.ts'),
    import('./cli/terminal.ts'),
  ]);
  process.exitCode = await runCli(argv, {
    ...launch,
    ...HOUSE,
    env: process.env,
    terminal: processTerminal,
  });
}

if (import.meta.main) await main(process.argv.slice(2), { program: 'berth', home: process.cwd() });
