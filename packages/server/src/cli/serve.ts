import type { LoadedConfig } from '../config.ts';
import type { Terminal } from './terminal.ts';

interface Running {
  readonly url: string;
  stop(): Promise<void>;
}

export type StartServer = (
  options: LoadedConfig & {
    readonly demo: boolean;
    readonly env: NodeJS.ProcessEnv;
    readonly announce: (text: string) => void;
    readonly onLost: () => void;
  },
) => Promise<Running>;

interface ServeOptions extends LoadedConfig {
  readonly demo: boolean;
  readonly start: StartServer;
  readonly terminal: Terminal;
  readonly json: boolean;
}

const EXIT_LOST = 70;

/** Runs the server until it is told to stop. Prints one line when it is ready. */
export async function serve({
  config,
  warnings,
  demo,
  start,
  terminal,
  json,
}: ServeOptions): Promise<number> {
  const ended = Promise.withResolvers<number>();
  const server = await start({
    config,
    warnings,
    demo,
    env: process.env,
    announce: (text) => terminal.complain(text),
    onLost: () => ended.resolve(EXIT_LOST),
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => ended.resolve(0));
  terminal.print(json ? JSON.stringify({ url: server.url }) : `berth listening on ${server.url}`);
  const code = await ended.promise;
  // A store that is lost leaves nothing to be stopped in good order: whoever watches the process starts it
  // anew.
  if (code === EXIT_LOST) process.exit(EXIT_LOST);
  await server.stop();
  return code;
}
