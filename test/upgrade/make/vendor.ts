import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Program } from '../../support/program.ts';
import { call } from '../site.ts';

type Env = Readonly<Record<string, string>>;

/** A pool of two licenses with a feature to lend, and one that counts. */
const LENDING = ['--timeout', '10', '--borrow-hours', '87600'];
const SOLD = [
  ['cad', '--slots', '3', ...LENDING, '--feature', 'render,slots=2,timeout=10,borrow-hours=100'],
  ['cad', '--slots', '2', ...LENDING, '--feature', 'render,slots=1,timeout=10'],
  [
    ...['meter', '--type', 'consumption', '--slots', '4', '--consumptions', '1000', '--overages', '50'],
    ...['--feature', 'export,consumptions=100,overages=5'],
  ],
] as const;
const BY_FILE = ['plotter', '--slots', '2', '--valid-until', '2199-01-01'];

/** The licensing cloud of a version, and its vendor. */
export class Vendor {
  readonly data: string;
  readonly url: string;
  readonly #program: Program;
  readonly #env: Env;
  keys = { apiKey: '', sharedKey: '' };
  publicKey = '';
  soldKeys: readonly (readonly [product: string, key: string])[] = [];
  offlineKey = '';
  #server: ChildProcess | undefined;

  constructor(program: Program, { data, url, env }: { data: string; url: string; env: Env }) {
    this.#program = program;
    this.data = data;
    this.url = url;
    this.#env = env;
  }

  run(...words: readonly string[]): Promise<string> {
    return call(this.#program, ['cloud', ...words, '--data', this.data], { env: this.#env });
  }

  /** The same vendor as it is now, to go on by itself. */
  copyTo(data: string): Vendor {
    cpSync(this.data, data, { recursive: true });
    return new Vendor(this.#program, { data, url: this.url, env: this.#env });
  }

  async begin(): Promise<void> {
    const made = JSON.parse(await this.run('key', 'create', '--json')) as Record<string, string>;
    this.keys = { apiKey: String(made.api_key), sharedKey: String(made.shared_key) };
    this.publicKey = await this.run('public-key');
    for (const product of ['cad', 'meter', 'plotter']) await this.run('product', 'create', product);
    this.soldKeys = await Promise.all(
      SOLD.map(async ([product, ...terms]) => [product, await this.#sell(product, terms)] as const),
    );
    const [plotter = '', ...terms] = BY_FILE;
    this.offlineKey = await this.#sell(plotter, terms);
  }

  async #sell(product: string, terms: readonly string[]): Promise<string> {
    const sold = await this.run('license', 'create', '--product', product, ...terms, '--json');
    return (JSON.parse(sold) as { license_key: string }).license_key;
  }

  /** Until `end`. */
  async serve(): Promise<void> {
    const { file, args } = this.#program;
    const { hostname, port } = new URL(this.url);
    const place = ['--host', hostname, '--port', port, '--data', this.data];
    const child = spawn(file, [...args, 'cloud', 'serve', ...place], {
      env: { ...process.env, ...this.#env },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.#server = child;
    await once(createInterface({ input: child.stdout }), 'line');
  }

  async end(): Promise<void> {
    const child = this.#server;
    this.#server = undefined;
    if (child === undefined) return;
    const ended = once(child, 'exit');
    child.kill();
    await ended;
  }
}
