import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { runCli } from '@berth/cloud/cli/cli';
import { BERTH } from '../program.ts';
import { temporaryFolder } from '../server-process.ts';
import { createTestTerminal } from './cloud-command-line.ts';
import { writeSigningKey } from './test-cloud.ts';

type Facts = Readonly<Record<string, unknown>>;

/** A real licensing cloud in a separate process, and the vendor's command line. */
export interface CloudProcess {
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
  /** Kills it (SIGKILL). */
  kill(): Promise<void>;
  /** Restarts it with the same address and data. */
  restart(): Promise<void>;
}

/** A license as the vendor sees it. */
interface VendorView {
  readonly id: number;
  readonly activations: number;
  readonly total_consumptions: number;
  readonly features: readonly { readonly code: string; readonly total_consumptions: number }[];
  readonly devices: readonly Facts[];
}

interface CloudOptions {
  /** An existing data folder; by default a new one. */
  readonly data?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the vendor has already created a key pair; true by default. */
  readonly withKeys?: boolean;
}

interface TestContext {
  after(work: () => unknown): void;
}

/** Starts a cloud with a key pair on a free port. It ends with the test. */
export async function startCloudProcess(t: TestContext, options: CloudOptions = {}): Promise<CloudProcess> {
  const data = options.data ?? temporaryFolder(t);
  if (options.data === undefined) writeSigningKey(data);
  const run = (...words: readonly string[]) => runVendor(data, words);
  const keys = options.withKeys === false ? NO_KEYS : await createKeys(data);
  const publicKeyFile = join(data, 'public.pem');
  writeFileSync(publicKeyFile, (await runText(data, ['public-key'])).trim());
  const args = ['--data', data, ...(options.args ?? [])];
  let child = serve(['--port', '0', ...args], options);
  const stop = () => end(child, 'SIGTERM');
  t.after(stop);
  const url = await readUrl(child);
  const products = new Set<string>();
  return {
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
    stop,
    kill: () => end(child, 'SIGKILL'),
    async restart() {
      child = serve(['--port', new URL(url).port, ...args], options);
      await readUrl(child);
    },
  };
}

const NO_KEYS = { apiKey: '', sharedKey: '' };

async function createKeys(data: string): Promise<CloudProcess['keys']> {
  const made = (await runVendor(data, ['key', 'create'])) as Readonly<Record<string, string>>;
  return { apiKey: made.api_key as string, sharedKey: made.shared_key as string };
}

function serve(args: readonly string[], { env }: CloudOptions): ChildProcess {
  return spawn(BERTH.file, [...BERTH.args, 'cloud', 'serve', ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
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
