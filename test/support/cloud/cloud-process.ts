import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { runCli } from '@berth/cloud/cli/cli';
import { startCloud } from '@berth/cloud/cli/serve';
import { systemClock } from '@berth/cloud/clock';
import { openDataFolder } from '@berth/cloud/store/data-folder';
import { BERTH } from '../program.ts';
import { temporaryFolder } from '../server-process.ts';
import { createTestTerminal } from './cloud-command-line.ts';
import { writeSigningKey } from './test-cloud.ts';

type Facts = Readonly<Record<string, unknown>>;

/** A real licensing cloud, and the vendor's command line. */
export interface RunningCloud {
  readonly url: string;
  readonly data: string;
  /** The file with the public key for its responses. */
  readonly publicKeyFile: string;
  readonly keys: { readonly apiKey: string; readonly sharedKey: string };
  /** Runs a command of the vendor and returns its JSON. */
  run(...words: readonly string[]): Promise<never>;
  /** Runs a command of the vendor and returns its text output. */
  runText(...words: readonly string[]): Promise<string>;
  /** The same with a line on standard input. */
  runWith(line: string, ...words: readonly string[]): Promise<never>;
  /** Grants a license and returns its key. Creates the product if necessary. */
  grant(product: string, ...flags: readonly string[]): Promise<string>;
  showLicense(key: string): Promise<VendorView>;
  stop(): Promise<void>;
  /** Restarts it with the same address and data. */
  restart(): Promise<void>;
}

/** The cloud in a separate process. */
export interface CloudProcess extends RunningCloud {
  /** Kills it (SIGKILL). */
  kill(): Promise<void>;
}

/** A license as the vendor sees it. */
interface VendorView {
  readonly id: number;
  readonly activations: number;
  readonly total_consumptions: number;
  readonly features: readonly { readonly code: string; readonly total_consumptions: number }[];
  readonly devices: readonly Facts[];
}

interface VendorOptions {
  /** An existing data folder; by default a new one. */
  readonly data?: string;
  /** Whether the vendor has already created a key pair; true by default. */
  readonly withKeys?: boolean;
}

interface CloudOptions extends VendorOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

interface TestContext {
  after(work: () => unknown): void;
}

/** Starts a cloud with a key pair on a free port. It ends with the test. */
export async function startCloudProcess(t: TestContext, options: CloudOptions = {}): Promise<CloudProcess> {
  const { args = [], env = {} } = options;
  const { cloud, end } = await open(t, options, (port, data) =>
    serveApart(['--port', port, '--data', data, ...args], env),
  );
  return { ...cloud, kill: () => end('SIGKILL') };
}

/** The same in this process, which is faster; it cannot be killed. */
export async function startCloudHere(t: TestContext, options: VendorOptions = {}): Promise<RunningCloud> {
  return (await open(t, options, serveHere)).cloud;
}

/** A cloud that serves. */
interface Serving {
  readonly url: string;
  /** May be called more than once. */
  end(signal: NodeJS.Signals): Promise<void>;
}

type Serve = (port: string, data: string) => Promise<Serving>;

async function open(t: TestContext, options: VendorOptions, serve: Serve) {
  const data = options.data ?? temporaryFolder(t);
  if (options.data === undefined) writeSigningKey(data);
  const run = (...words: readonly string[]) => runVendor(data, words);
  const keys = options.withKeys === false ? NO_KEYS : await createKeys(data);
  const publicKeyFile = join(data, 'public.pem');
  writeFileSync(publicKeyFile, (await runText(data, ['public-key'])).trim());
  let serving = await serve('0', data);
  const { url } = serving;
  const end = (signal: NodeJS.Signals) => serving.end(signal);
  t.after(() => end('SIGTERM'));
  const products = new Set<string>();
  const cloud: RunningCloud = {
    url,
    data,
    publicKeyFile,
    keys,
    run,
    runWith: (line, ...words) => runVendor(data, words, line),
    runText: (...words) => runText(data, words),
    async grant(product, ...flags) {
      if (!products.has(product)) await run('product', 'create', product);
      products.add(product);
      return ((await run('license', 'create', '--product', product, ...flags)) as VendorKey).license_key;
    },
    showLicense: (key) => run('license', 'show', key),
    stop: () => end('SIGTERM'),
    async restart() {
      serving = await serve(new URL(url).port, data);
    },
  };
  return { cloud, end };
}

async function serveHere(port: string, data: string): Promise<Serving> {
  const folder = openDataFolder(data);
  const listening = await startCloud({
    folder,
    flags: { port },
    clock: systemClock,
    terminal: createTestTerminal(),
    defaultPort: 0,
    warnings: [],
  });
  let ending: Promise<void> | undefined;
  const end = () => {
    ending ??= listening.stop().then(() => folder.close());
    return ending;
  };
  return { url: listening.url, end };
}

async function serveApart(args: readonly string[], env: CloudOptions['env']): Promise<Serving> {
  const child = spawn(BERTH.file, [...BERTH.args, 'cloud', 'serve', ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return { url: await readUrl(child), end: (signal) => end(child, signal) };
}

const NO_KEYS = { apiKey: '', sharedKey: '' };

async function createKeys(data: string): Promise<CloudProcess['keys']> {
  const made = (await runVendor(data, ['key', 'create'])) as Readonly<Record<string, string>>;
  return { apiKey: made.api_key as string, sharedKey: made.shared_key as string };
}

interface VendorKey {
  readonly license_key: string;
}

async function runVendor(data: string, words: readonly string[], line = ''): Promise<never> {
  return JSON.parse(await runText(data, [...words, '--json'], line)) as never;
}

/** Runs in this process: the vendor's commands use the cloud's database directly. */
async function runText(data: string, words: readonly string[], line = ''): Promise<string> {
  const out: string[] = [];
  const err: string[] = [];
  const terminal = createTestTerminal({ out, err, secret: line });
  const argv = [...words, '--data', data];
  const code = await runCli(argv, { program: 'cloud', home: data, env: {}, terminal });
  if (code !== 0) throw new Error(`cloud ${words.join(' ')} ended with ${code}: ${err.join('\n')}`);
  return `${out.join('\n')}\n`;
}

async function readUrl(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const first = await Promise.race([once(lines, 'line'), once(child, 'exit').then(() => null)]);
  const url = first === null ? undefined : /^cloud listening on (\S+)$/.exec(first[0] as string)?.[1];
  if (url === undefined) throw new Error('The cloud did not start.');
  return url;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
