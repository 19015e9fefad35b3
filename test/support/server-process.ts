import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { License } from '../../packages/server/src/core/nouns/license.ts';
import { createDataFolder } from '../../packages/server/src/store/folder-access.ts';
import { openDataFolder } from '../../packages/server/src/store/sqlite/data-folder.ts';
import type { Store } from '../../packages/server/src/store/store.ts';
import { openPatiently } from '../../packages/server/test/store/exam/postgres-database.ts';
import { addAdministrator } from './administrator.ts';
import { BERTH, type Program } from './program.ts';
import { hasMemory, MEMORY } from './stores/postgres.ts';
import { environmentOf, findDatabase } from './stores/test-stores.ts';

/** A real server process. */
export interface ServerProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** Everything written to standard error so far. */
  readLog(): string;
  /** Stops it, by default gracefully, and returns its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface StartOptions {
  readonly data: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Where it is started: with the `berth.yaml` that is there. */
  readonly cwd?: string;
  /** A program that starts it, such as strace. */
  readonly under?: readonly string[];
  /** The Berth to start, if not the one under test. */
  readonly program?: Program;
}

/** Starts `berth serve` on a free port and waits for its ready line. */
export async function startServerProcess(options: StartOptions) {
  const { data, args = [], env = {}, cwd, under = [], program = BERTH } = options;
  const words = [...under, program.file, ...program.args, 'serve', '--port', '0', '--data', data, ...args];
  const child = spawn(words[0] as string, words.slice(1), {
    env: { ...process.env, ...(await environmentOf(data)), ...env },
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    log += chunk;
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const url = await readUrl(child, exited, () => log);
  const server: ServerProcess = {
    url,
    child,
    readLog: () => log,
    stop(signal = 'SIGTERM') {
      child.kill(signal);
      return exited;
    },
  };
  return server;
}

async function readUrl(
  child: ChildProcess,
  exited: Promise<unknown>,
  readLog: () => string,
): Promise<string> {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const ready = new Promise<string>((resolve) => {
    lines.on('line', (line) => {
      const url = /^berth listening on (\S+)$/.exec(line)?.[1];
      if (url !== undefined) resolve(url);
    });
  });
  const url = await Promise.race([ready, exited.then(() => null)]);
  if (url === null) throw new Error(`The server ended before it was ready:\n${readLog()}`);
  return url;
}

/** In memory if possible, where syncs are free. */
const FOLDERS = hasMemory() ? MEMORY : tmpdir();
const DISK = tmpdir().startsWith(MEMORY) ? '/tmp' : tmpdir();

/** A folder that is removed after the test. Files in memory are often not executable. */
export function temporaryFolder(t: { after(work: () => void): void }, { hasPrograms = false } = {}): string {
  const folder = mkdtempSync(join(hasPrograms ? DISK : FOLDERS, 'berth-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Does what a first start does, and adds licenses: the server on this data folder then starts faster. */
export async function seedLicenses(data: string, licenses: readonly License[] = []): Promise<void> {
  createDataFolder(data);
  const url = await findDatabase(data);
  const store = await (url === null ? openFolder(data) : openShared(data, url));
  for (const license of licenses) await store.execute({ kind: 'install_license', license, by: 'test' });
  await addAdministrator(store);
  await store.close();
}

async function openFolder(folder: string): Promise<Store> {
  const masterKey = { value: null, file: null };
  const store = await openDataFolder({ folder, masterKey, onNotice: () => {}, useThreads: false });
  if (store === null) throw new Error(`${folder} is in use.`);
  return store;
}

function openShared(folder: string, url: string): Promise<Store> {
  const masterKey = { value: null, file: join(folder, 'master.key') };
  return openPatiently({ url, masterKey, isServing: false });
}
