import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { Facts } from '../support/berth-api.ts';
import { BERTH, type Program } from '../support/program.ts';
import { type ServerProcess, startServerProcess } from '../support/server-process.ts';
import { environmentOf } from '../support/stores/test-stores.ts';

/** A command that takes longer hangs. */
const COMMAND_TIMEOUT_MS = 60_000;

interface Life {
  after(work: () => unknown): void;
}

interface Answered {
  readonly status: number;
  readonly body: Facts;
  readonly headers: Headers;
}

interface Ask {
  readonly body?: Facts;
  readonly headers?: Readonly<Record<string, string>>;
}

interface CallOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** With the `berth.yaml` that is there. */
  readonly cwd?: string;
}

/** Runs a program to its end, and returns what it wrote. Throws if it fails. */
export function call(
  { file, args }: Program,
  words: readonly string[],
  { input = '', env = {}, cwd = process.cwd() }: CallOptions = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd, env: { ...process.env, ...env }, timeout: COMMAND_TIMEOUT_MS };
    const child = execFile(file, [...args, ...words], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`berth ${words.join(' ')} failed: ${stderr}${stdout}`));
    });
    // A command that reads no input may exit before the input is written.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/**
 * A folder with `berth.yaml` and the data beside it, and the server on it: of any version, and with the
 * settings that the file has.
 */
export class Site {
  readonly folder: string;
  /** Whose servers and commands are started. */
  program: Program = BERTH;
  /** For servers and commands. */
  env: Readonly<Record<string, string>> = {};
  /** The token for what `ask` sends. */
  token = '';
  #server: ServerProcess | null = null;
  readonly #life: Life;

  constructor(life: Life, folder: string) {
    this.folder = folder;
    this.#life = life;
  }

  get data(): string {
    return join(this.folder, 'data');
  }

  get url(): string {
    if (this.#server === null) throw new Error('The server does not run.');
    return this.#server.url;
  }

  get log(): string {
    return this.#server?.readLog() ?? '';
  }

  async start(...args: readonly string[]): Promise<void> {
    const { data, program, env } = this;
    const server = await startServerProcess({ data, args, env, cwd: this.folder, program });
    this.#life.after(() => server.stop('SIGKILL'));
    this.#server = server;
  }

  /** The same; returns why it did not start, or `null`. */
  tryToStart(): Promise<string | null> {
    return this.start().then(
      () => null,
      (error: Error) => error.message,
    );
  }

  async stop(signal?: NodeJS.Signals): Promise<void> {
    await this.#server?.stop(signal);
  }

  /** Runs `berth WORDS`, and returns what it prints. */
  async run(words: readonly string[], input = ''): Promise<string> {
    const { data, program } = this;
    const env = { ...(await environmentOf(data)), ...this.env };
    return call(program, words, { input, env, cwd: this.folder });
  }

  /** `GET /api/admin/users` and the like; a body is sent as JSON. */
  async ask(operation: string, { body, headers = {} }: Ask = {}): Promise<Answered> {
    const [method = '', path = ''] = operation.split(' ');
    const answer = await fetch(this.url + path, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(this.token === '' || 'cookie' in headers ? {} : { authorization: `Bearer ${this.token}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    // Some answers of v4 are a word.
    const read = /^[[{]/.test(text) ? (JSON.parse(text) as Facts) : { text };
    return { status: answer.status, body: read, headers: answer.headers };
  }

  /** The same; throws unless it succeeds. */
  async get(path: string): Promise<Facts> {
    return this.demand(`GET ${path}`);
  }

  async demand(operation: string, ask: Ask = {}): Promise<Facts> {
    const { status, body } = await this.ask(operation, ask);
    if (status >= 300) throw new Error(`${operation} was answered with ${status}: ${JSON.stringify(body)}`);
    return body;
  }

  /** A v4 call of an application. */
  post(name: string, body: Facts, headers: Ask['headers'] = {}): Promise<Answered> {
    return this.ask(`POST /api/v4/${name}`, { body, headers });
  }
}

export interface Slot extends Facts {
  readonly license_id: number;
  readonly user: string;
  readonly registered_at: string;
  readonly ends_at: string;
  readonly borrowed_until: string | null;
  readonly features: readonly string[];
}

/** Who holds a slot, as administrators see it. */
export async function listSlots(site: Site): Promise<readonly Slot[]> {
  return (await site.get('/api/admin/registrations')).registrations as readonly Slot[];
}
