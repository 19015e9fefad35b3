import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

/** How Berth was started, which `bin/berth.js` finds out. */
interface Launch {
  /** What the caller types, such as `./berth`. */
  readonly program: string;
  /** The folder in which `./data` and `./berth.yaml` are looked for when nobody names others. */
  readonly home: string;
}

export async function main(argv: readonly string[], launch: Launch): Promise<void> {
  // Compiled code is kept beside the packages it comes from, which halves the time of a start. It must be
  // switched on before anything else is loaded; threads take it from the environment. Where the folder cannot
  // be written, everything works without.
  process.env.NODE_COMPILE_CACHE ??= fileURLToPath(
    new URL('../../../node_modules/.cache/berth', import.meta.url),
  );
  enableCompileCache(process.env.NODE_COMPILE_CACHE);
  const [{ runCli }, { processTerminal }, { VERSION, ...compose }] = await Promise.all([
    import('./cli/cli.ts'),
    import('./cli/terminal.ts'),
    import('./compose/compose.ts'),
  ]);
  process.exitCode = await runCli(argv, {
    ...launch,
    terminal: processTerminal,
    version: VERSION,
    startServer: compose.startServer,
    openStoppedServer: compose.openStoppedServer,
    importMasterKey: compose.importMasterKey,
    moveStore: compose.moveStore,
    describeHolder: compose.describeHolder,
    isExpected: compose.isExpected,
  });
}

if (import.meta.main) await main(process.argv.slice(2), { program: 'berth', home: process.cwd() });
