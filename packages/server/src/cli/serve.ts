import { setFlagsFromString } from 'node:v8';
import { waitForStop } from '@berth/shell/console/stop-signals';
import type { Config, LoadedConfig } from '../config.ts';
import type { AdminClient } from './admin-client.ts';
import { type DemoCloud, startDemoCloud } from './demo-cloud.ts';
import { describeFirstRequest, describePlaces } from './first-request.ts';
import { notifyManager } from './service/notify-manager.ts';
import type { Terminal } from './terminal.ts';

interface Running {
  readonly url: string;
  /** A product with a free slot. */
  findLendable(): Promise<string | null>;
  stop(): Promise<void>;
}

export type StartServer = (
  options: LoadedConfig & {
    readonly demo: boolean;
    readonly testClock: boolean;
    readonly completeConfig: (config: Config) => Promise<Config>;
    readonly env: NodeJS.ProcessEnv;
    readonly announce: (text: string) => void;
    /** Rewrites the commands in a message as the reader types them. */
    readonly rewrite: (text: string) => string;
    readonly onLost: () => void;
  },
) => Promise<Running>;

interface ServeOptions extends LoadedConfig {
  readonly env: NodeJS.ProcessEnv;
  readonly demo: boolean;
  /** Whether to run a licensing cloud for the server. */
  readonly demoCloud: boolean;
  /** Whether the time of the server is for tests to move. */
  readonly testClock: boolean;
  /** The command line that starts this program again. */
  readonly self: readonly string[];
  readonly start: StartServer;
  readonly connect: (config: Config) => Promise<AdminClient>;
  readonly rewrite: (text: string) => string;
  readonly terminal: Terminal;
  readonly json: boolean;
}

const EXIT_LOST = 70;

/**
 * With many waiting clients, V8 concludes that whatever a request allocates lives long, and then keeps that
 * of all requests. So it must not learn lifetimes while the server listens. Before that and while it stops,
 * it may: compiled code, Node's own included, is only accepted under the flags it was compiled with.
 */
function letV8LearnLifetimes(may: boolean): void {
  setFlagsFromString(`--${may ? '' : 'no-'}allocation-site-pretenuring`);
}

/** Runs the server until a stop signal. Prints one line when it is ready. */
export async function serve(options: ServeOptions): Promise<number> {
  // The reader of our output may exit first; that must not prevent an orderly stop.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const beside: { cloud: DemoCloud | null } = { cloud: null };
  let code: number;
  try {
    code = await serveBeside(beside, options);
  } finally {
    await beside.cloud?.stop();
  }
  // Everything is stored and answered. To tidy up after clients that do not read, Node may take for ever.
  process.exit(code);
}

async function serveBeside(beside: { cloud: DemoCloud | null }, options: ServeOptions): Promise<number> {
  const { config, warnings, env, demo, demoCloud, testClock, self, start, connect, rewrite } = options;
  const { terminal, json } = options;
  const ended = Promise.withResolvers<number>();
  let isFirst = demo || demoCloud;
  const server = await start({
    config,
    warnings,
    demo,
    testClock,
    async completeConfig(settings) {
      if (!demoCloud) return settings;
      beside.cloud = await startDemoCloud(settings, self);
      return beside.cloud.config;
    },
    env,
    announce: (text) => {
      isFirst = true;
      terminal.complain(text);
    },
    rewrite,
    onLost: () => ended.resolve(EXIT_LOST),
  });
  letV8LearnLifetimes(false);
  waitForStop(process).then(() => ended.resolve(0));
  try {
    if (beside.cloud !== null) await introduce(beside.cloud, await connect(config));
    terminal.print(json ? JSON.stringify({ url: server.url }) : `berth listening on ${server.url}`);
    // A failed hint must not stop the server.
    if (isFirst && !json) await introduceServer(server, config).then(terminal.complain, () => {});
    notifyManager(env, ['READY=1', `STATUS=Listening on ${server.url}`], terminal.warn);
    const code = await ended.promise;
    // Without its store the server cannot stop in order; the service manager restarts it.
    if (code === EXIT_LOST) process.exit(EXIT_LOST);
    notifyManager(env, ['STOPPING=1'], terminal.warn);
    return code;
  } finally {
    letV8LearnLifetimes(true);
    await server.stop();
  }
}

async function introduceServer({ url, findLendable }: Running, config: Config): Promise<string> {
  const product = await findLendable();
  const request = describeFirstRequest({ url, product, config, platform: process.platform });
  return `${describePlaces(url, config)}\n${request}`;
}

async function introduce(cloud: DemoCloud, client: AdminClient): Promise<void> {
  try {
    await cloud.introduce(client);
  } finally {
    await client.close();
  }
}
