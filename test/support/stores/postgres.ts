import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { findFreePort } from '../free-port.ts';
import { createDatabase, dropDatabases, withDatabase } from './databases.ts';
import { findBinaries, findRunAs, makeUsable, type RunAs } from './postgres-binaries.ts';

export type Settings = Readonly<Record<string, string>>;

interface PostgresOptions {
  /** Server settings, such as `synchronous_commit`. */
  readonly settings?: Settings;
  /** Keeps the data on disk instead of in memory. */
  readonly durable?: boolean;
  /** Lines of `pg_hba.conf`. By default, every local user may connect. */
  readonly access?: readonly string[];
  /** Keeps what others can copy, which is faster than to make it: see `MODEL_FOLDER`. */
  readonly isModel?: boolean;
}

export type DatabaseContent = 'empty' | 'tables';

/** A real PostgreSQL server for tests. */
export interface TestPostgres {
  /** The main process; `undefined` while stopped. */
  readonly pid: number | undefined;
  readonly port: number;
  readonly dataFolder: string;
  /** For files of the test, such as certificates. Removed with the server. */
  readonly folder: string;
  url(database: string): string;
  /** Creates a database, empty or with the server's tables, and returns its URL. */
  createDatabase(content?: DatabaseContent): Promise<string>;
  /** 'immediate' is equivalent to a crash. */
  stop(how: 'fast' | 'immediate'): Promise<void>;
  /** Restarts it on the same port and data, without the settings of earlier starts. */
  start(settings?: Settings): Promise<void>;
  /** Stops it permanently and removes all files. */
  end(): Promise<void>;
}

const SUPERUSER = 'postgres';
/** The in-memory file system of Linux. */
export const MEMORY = '/dev/shm';

/** Enough for a cluster and the data of a few tests. Containers often have only 64 MB. */
const LEAST_MEMORY_BYTES = 512 * 1024 * 1024;
const PORT_ATTEMPTS = 5;

/**
 * Waits until its input ends, which also happens when the test is killed. Then stops the server with the last
 * process id it received, and removes the folders.
 */
const WATCHDOG = `
  while read -r next; do pid=$next; done
  if [ -n "$pid" ]; then
    kill -QUIT "$pid"
    rounds=0
    while kill -0 "$pid" && [ $rounds -lt 200 ]; do sleep 0.05; rounds=$((rounds + 1)); done
  fi 2>/dev/null
  rm -rf "$@"
`;

/** A server provided by the user, or the one started for the whole test run. */
const EXTERNAL_URL = process.env.BERTH_TEST_DATABASE_URL;
const SHARED_URL = EXTERNAL_URL ?? process.env.TEST_POSTGRES_URL;

/** Whether `sharedPostgres` starts no server, so that every call may have its own databases. */
export const isPostgresRunning = SHARED_URL !== undefined;

/** The folder of a server that was started as a model, with its binaries and its cluster, still empty. */
const MODEL_FOLDER = process.env.TEST_POSTGRES_MODEL;

/** Whether PostgreSQL is available for tests. */
export const hasPostgres = EXTERNAL_URL !== undefined || canStart();

function canStart(): boolean {
  return process.platform !== 'win32' && findBinaries() !== undefined && findRunAs() !== undefined;
}

/** Starts a separate server with an empty cluster on a free local port. */
export async function startPostgres(options: PostgresOptions = {}): Promise<TestPostgres> {
  const native = findBinaries();
  const runAs = findRunAs();
  if (native === undefined || runAs === undefined)
    throw new Error('There is no PostgreSQL for this machine.');
  // Files in memory are often not executable, so copied binaries go to disk.
  const folder = makeFolder(tmpdir().startsWith(MEMORY) ? '/tmp' : tmpdir(), runAs);
  const dataFolder = options.durable || !hasMemory() ? folder : makeFolder(MEMORY, runAs);
  const watchdog = new Watchdog([folder, dataFolder]);
  try {
    const binaries = findCopied('postgres') ?? makeUsable(native, folder, runAs);
    const cluster = new Cluster({ binaries, folder, dataFolder, runAs, watchdog });
    cluster.create(options);
    await cluster.startSomewhere(options.settings);
    return cluster;
  } catch (error) {
    await watchdog.clearUp();
    throw error;
  }
}

function findCopied(name: 'postgres' | 'cluster'): string | undefined {
  const path = MODEL_FOLDER === undefined ? undefined : join(MODEL_FOLDER, name);
  return path !== undefined && existsSync(path) ? path : undefined;
}

/** For a server with many short-lived databases. */
export const SHARED_SETTINGS: Settings = { autovacuum: 'off' };

/**
 * One server for all tests of a file, started on first use. With BERTH_TEST_DATABASE_URL it is the server at
 * that URL; without options it is the one of the whole run (TEST_POSTGRES_URL). Tests cannot stop or start
 * these two.
 */
export function sharedPostgres(options: PostgresOptions = {}): () => Promise<TestPostgres> {
  const url = Object.keys(options).length === 0 ? SHARED_URL : EXTERNAL_URL;
  let started: Promise<TestPostgres> | undefined;
  after(async () => (await started)?.end());
  return () => {
    const settings = { ...SHARED_SETTINGS, ...options.settings };
    started ??=
      url === undefined ? startPostgres({ ...options, settings }) : Promise.resolve(useExternal(url));
    return started;
  };
}

/** The server of the whole run, or else one of its own: for what is no test. */
export async function findPostgres(life: { after(end: () => unknown): void }): Promise<TestPostgres> {
  const postgres =
    SHARED_URL === undefined ? await startPostgres({ settings: SHARED_SETTINGS }) : useExternal(SHARED_URL);
  life.after(() => postgres.end());
  return postgres;
}

function makeFolder(parent: string, { uid, gid }: RunAs): string {
  const folder = mkdtempSync(join(parent, 'berth-postgres-'));
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  chmodSync(folder, 0o755);
  return folder;
}

/** Whether there is enough memory for test files. */
export function hasMemory(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= LEAST_MEMORY_BYTES;
}

class Watchdog {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  constructor(folders: readonly string[]) {
    this.#child = spawn('sh', ['-c', WATCHDOG, 'sh', ...folders], {
      cwd: '/',
      // A separate process group, so that Ctrl-C does not reach it.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#exited = once(this.#child, 'exit');
    this.#child.unref();
    // The pipe is a socket, and must not keep a test alive that forgot to end the server.
    (this.#child.stdin as unknown as { unref(): void }).unref();
  }

  watch(pid: number | undefined): void {
    this.#child.stdin?.write(`${pid ?? ''}\n`);
  }

  async clearUp(): Promise<void> {
    this.#child.ref();
    this.#child.stdin?.end();
    await this.#exited;
  }
}

interface ClusterParts {
  readonly binaries: string;
  readonly folder: string;
  readonly dataFolder: string;
  readonly runAs: RunAs;
  readonly watchdog: Watchdog;
}

class Cluster implements TestPostgres {
  readonly folder: string;
  readonly dataFolder: string;
  port = 0;
  readonly #binaries: string;
  readonly #runAs: RunAs;
  readonly #watchdog: Watchdog;
  #child: ChildProcess | undefined;

  constructor(parts: ClusterParts) {
    this.#binaries = parts.binaries;
    this.folder = parts.folder;
    this.dataFolder = join(parts.dataFolder, 'data');
    this.#runAs = parts.runAs;
    this.#watchdog = parts.watchdog;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  create({ access, isModel }: PostgresOptions): void {
    const model = findCopied('cluster');
    if (model === undefined) this.#initialize();
    else this.#run('cp', '-a', model, this.dataFolder);
    if (isModel) this.#run('cp', '-a', this.dataFolder, join(this.folder, 'cluster'));
    if (access !== undefined) writeFileSync(join(this.dataFolder, 'pg_hba.conf'), `${access.join('\n')}\n`);
  }

  #initialize(): void {
    const access = ['-U', SUPERUSER, '-A', 'trust'];
    const initdb = join(this.#binaries, 'bin', 'initdb');
    this.#run(initdb, '-D', this.dataFolder, ...access, '--encoding=UTF8', '--no-locale', '--no-sync');
  }

  #run(program: string, ...words: readonly string[]): void {
    const { status, stderr } = spawnSync(program, words, { ...this.#runAs, cwd: '/', encoding: 'utf8' });
    if (status !== 0) throw new Error(`${program} failed:\n${stderr}`);
  }

  /** Another program may take the port first. */
  async startSomewhere(settings?: Settings): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      this.port = await findFreePort();
      try {
        return await this.start(settings);
      } catch (error) {
        const isTaken = error instanceof Error && error.message.includes('Address already in use');
        if (!isTaken || attempt === PORT_ATTEMPTS) throw error;
      }
    }
  }

  async start(settings: Settings = {}): Promise<void> {
    if (this.#child !== undefined) throw new Error('It runs already.');
    const all: Settings = {
      listen_addresses: '127.0.0.1',
      port: String(this.port),
      unix_socket_directories: '',
      shared_buffers: '32MB',
      ...settings,
    };
    const words = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = spawn(join(this.#binaries, 'bin', 'postgres'), ['-D', this.dataFolder, ...words], {
      ...this.#runAs,
      cwd: '/',
      // Stderr is read below. Detached, so that Ctrl-C only reaches the test.
      env: { ...process.env, LC_ALL: 'C' },
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#watchdog.watch(child.pid);
    this.#child = child;
    child.once('exit', () => {
      if (this.#child === child) this.#child = undefined;
      this.#watchdog.watch(undefined);
    });
    await waitUntilReady(child);
    child.unref();
    (child.stderr as unknown as { unref(): void }).unref();
  }

  async stop(how: 'fast' | 'immediate'): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    child.ref();
    const exited = once(child, 'exit');
    child.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await exited;
  }

  async end(): Promise<void> {
    await this.stop('immediate');
    await this.#watchdog.clearUp();
  }

  url(database: string): string {
    return `postgres://${SUPERUSER}@127.0.0.1:${this.port}/${database}`;
  }

  createDatabase(content: DatabaseContent = 'empty'): Promise<string> {
    return createDatabase(this.url('postgres'), content);
  }
}

async function waitUntilReady(child: ChildProcess): Promise<void> {
  let log = '';
  const ready = new Promise<true>((resolve) => {
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-10_000);
      if (/ready to accept (?:read-only )?connections/.test(log)) resolve(true);
    });
  });
  const ended = once(child, 'exit').then(() => false);
  if (!(await Promise.race([ready, ended]))) throw new Error(`PostgreSQL ended before it was ready:\n${log}`);
}

/** An existing server. Its test databases are dropped at the end. */
function useExternal(externalUrl: string): TestPostgres {
  const made: string[] = [];
  const refuse = () =>
    Promise.reject(new Error('Others use this server: it is neither stopped nor started.'));
  return {
    pid: undefined,
    port: Number(new URL(externalUrl).port || 5432),
    folder: '',
    dataFolder: '',
    url: (database) => withDatabase(externalUrl, database),
    async createDatabase(content = 'empty') {
      const url = await createDatabase(externalUrl, content);
      made.push(url);
      return url;
    },
    stop: refuse,
    start: refuse,
    end: () => dropDatabases(externalUrl, made),
  };
}
