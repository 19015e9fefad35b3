import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  explainOpen,
  explainReadable,
  explainSharing,
  explainWritable,
  refuseOpen,
} from '@berth/shell/files/file-sharing';
import type { Config } from '../config.ts';
import type { StoreNotice } from '../core/nouns/store-notice.ts';
import { openExport } from '../secrets/key-export.ts';
import { findKeySource, type GivenKey } from '../secrets/master-key.ts';
import { fingerprint, type MasterKey } from '../secrets/seal.ts';
import { listSteeringFiles } from '../services/doctor/steering-files.ts';
import { placeMasterKey } from '../services/keys/place-master-key.ts';
import { createDataFolder, DATABASE_FILE, explainFolder, hasData } from '../store/folder-access.ts';
import { describeHolder, type FolderLock, holdFolder, LOCK_FILE, lockFolder } from '../store/folder-lock.ts';
import type { Store } from '../store/store.ts';

/** Why a server cannot have a test clock with these settings; `null`: it can. */
export function explainTestClock(config: Config): string | null {
  if (isShared(config)) return 'A test clock needs a data folder of its own. Leave out the database.';
  if (config.cloud.url !== '') return 'A test clock works without a licensing cloud. Leave out cloud.url.';
  return null;
}

/** Each store is only loaded if it is used. */
const loadSqlite = () => import('../store/sqlite/data-folder.ts');
const loadPostgres = () => import('../store/postgres/open-database.ts');

/** A reason not to start that the administrator can fix. */
export class StartError extends Error {}

export interface StoreOptions {
  readonly config: Config;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly onNotice: (notice: StoreNotice) => void;
  /** Called when the log may have new events, of this server or another one. */
  readonly onNews: () => void;
}

/** Whether the data is in a database that other servers share. */
export function isShared({ database }: Config): boolean {
  return database.url !== '';
}

/** A command may hold the folder for a moment. */
const LOCK_ATTEMPTS = 20;
const LOCK_INTERVAL_MS = 100;

/** Opens the store for a server and locks the folder. */
export async function openServersStore(options: StoreOptions): Promise<Store> {
  const { data } = options.config;
  createFolderOrExplain(data);
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
    const store = await openOrNull(options, true);
    if (store !== null) return store;
    await delay(LOCK_INTERVAL_MS);
  }
  throw describeTaken(data);
}

function describeTaken(data: string): StartError {
  return new StartError(
    `The data folder ${data} is in use by ${describeHolder(data)}. Stop it first, or choose another folder.`,
  );
}

/** A second server finds its port taken before it gets to the folder, which says more. */
export function explainTakenPort({ data }: Config, error: unknown): unknown {
  return isHeld(data) ? describeTaken(data) : error;
}

/**
 * Opens the store for a command while the server of this folder is stopped; `null` if the server or another
 * command runs. Other servers on the same database may keep running.
 */
export async function openStoppedStore(options: StoreOptions): Promise<Store | null> {
  const { config } = options;
  if (isShared(config) || hasData(config.data)) return openOrNull(options, false);
  // The folder of a server with a database has no data, and its commands need no database URL.
  if (isHeld(config.data)) return null;
  const problem = explainFolder(config.data);
  if (problem !== null) throw new StartError(problem);
  const file = join(config.data, DATABASE_FILE);
  if (existsSync(file)) throw new StartError(`${file} is empty. This is not a copy of a server's data.`);
  throw new StartError(
    `There is no data in ${config.data}. Start the server once, select its folder with --data, or set ` +
      'BERTH_DATABASE_URL if its data is in a database.',
  );
}

/** Whether a server or a command uses the folder; callers then ask that process and need no store. */
export function isTaken(options: Pick<StoreOptions, 'config' | 'env'>): boolean {
  const { config } = options;
  if (isShared(config) || hasData(config.data)) refuseShared(options);
  return isHeld(config.data);
}

/** Checks without creating a lock file. */
function isHeld(folder: string): boolean {
  if (!existsSync(join(folder, LOCK_FILE))) return false;
  const lock = lockFolder(folder);
  lock?.release();
  return lock === null;
}

async function openOrNull(options: StoreOptions, isServing: boolean): Promise<Store | null> {
  const { config, env, onNotice } = options;
  refuseShared(options);
  const ignoresCase = ignoresCaseIn(config, isServing);
  if (!isShared(config)) {
    const masterKey = readKeyVariables(env);
    const { openDataFolder } = await loadSqlite();
    return openDataFolder({ folder: config.data, masterKey, onNotice, useThreads: isServing, ignoresCase });
  }
  // Without a folder, no server can run in it.
  const lock = existsSync(config.data) ? lockFolder(config.data) : NO_LOCK;
  if (lock === null) return null;
  try {
    return holdFolder(await openShared(options, isServing), lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Anyone who can write the folder or a file that steers the server can lend slots and add accounts. */
function refuseShared(options: Pick<StoreOptions, 'config' | 'env'>): void {
  const { config, env } = options;
  const problem =
    explainSharing(guardedPaths(options), env, explainWritable) ??
    refuseOpen(listSteeringFiles(config, env), env);
  if (problem !== null) throw new StartError(problem);
}

/** Warnings about other users who can read them, and in a container about those who can write. */
export function findShared(options: Pick<StoreOptions, 'config' | 'env'>): readonly string[] {
  const { config, env } = options;
  return [
    explainSharing(guardedPaths(options), env, explainReadable),
    explainSharing(listSteeringFiles(config, env), env, explainOpen),
  ].filter((warning) => warning !== null);
}

function guardedPaths({ config, env }: Pick<StoreOptions, 'config' | 'env'>): readonly string[] {
  return [config.data, findMasterKey({ config, env }).file];
}

/** A command does not change the identity: it may just lack the server's settings. */
function ignoresCaseIn({ users }: Config, isServing: boolean): boolean | undefined {
  return isServing ? users.ignoreCase : undefined;
}

const NO_LOCK: FolderLock = { release: () => {} };

async function openShared({ config, env, ...rest }: StoreOptions, isServing: boolean): Promise<Store> {
  const { openDatabase } = await loadPostgres();
  const { connections: maxConnections, ...database } = config.database;
  const masterKey = findMasterKey({ config, env });
  const ignoresCase = ignoresCaseIn(config, isServing);
  return openDatabase({ ...database, maxConnections, masterKey, ...rest, isServing, ignoresCase });
}

/** Where the master key of the server is. */
export function findMasterKey({ config, env }: Pick<StoreOptions, 'config' | 'env'>) {
  return findKeySource(config.data, readKeyVariables(env));
}

export function readKeyVariables(env: StoreOptions['env']): GivenKey {
  return { value: env.BERTH_MASTER_KEY ?? null, file: env.BERTH_MASTER_KEY_FILE ?? null };
}

export function createFolderOrExplain(folder: string): void {
  try {
    createDataFolder(folder);
  } catch (error) {
    throw new StartError(`The data folder ${folder} cannot be created: ${(error as Error).message}`);
  }
}

/** Installs the master key of an export and returns its fingerprint. */
export async function importMasterKey(
  options: Pick<StoreOptions, 'config' | 'env' | 'version'>,
  text: string,
  passphrase: string,
): Promise<string> {
  const { config } = options;
  const { masterKey: key } = await openExport(text, passphrase);
  // A server that joins others has no folder yet.
  if (isShared(config)) createFolderOrExplain(config.data);
  await placeMasterKey({
    folder: config.data,
    source: findMasterKey(options),
    key,
    findSealedBy: async () =>
      isShared(config) ? tryKey(options, key) : (await loadSqlite()).findSealedBy(config.data),
  });
  return fingerprint(key);
}

/** Opens the database only with the right key; otherwise throws and says which one is needed. */
async function tryKey(
  { config, version }: Pick<StoreOptions, 'config' | 'version'>,
  key: MasterKey,
): Promise<string> {
  const env = { BERTH_MASTER_KEY: Buffer.from(key).toString('hex') };
  const store = await openShared({ config, env, version, onNotice: () => {}, onNews: () => {} }, false);
  try {
    return (await store.read({ kind: 'describe_seal' })).sealedBy;
  } finally {
    await store.close();
  }
}
