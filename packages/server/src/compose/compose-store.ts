import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { explainReadable, explainWritable } from '@berth/protocol/console/file-sharing';
import type { Config } from '../config.ts';
import type { StoreNotice } from '../core/nouns/store-notice.ts';
import { openExport } from '../secrets/key-export.ts';
import { findKeySource, type GivenKey } from '../secrets/master-key.ts';
import { fingerprint, type MasterKey } from '../secrets/seal.ts';
import { placeMasterKey } from '../services/upkeep/place-master-key.ts';
import { createDataFolder, DATABASE_FILE, explainFolder, hasData } from '../store/folder-access.ts';
import {
  describeHolder,
  explainSharing,
  type FolderLock,
  holdFolder,
  LOCK_FILE,
  lockFolder,
} from '../store/folder-lock.ts';
import type { Store } from '../store/store.ts';

/** Each store is loaded by those who use it alone. */
const loadSqlite = () => import('../store/sqlite/wire/data-folder.ts');
const loadPostgres = () => import('../store/postgres/wire/open-database.ts');

/** A reason not to start that a person can do something about. */
export class StartError extends Error {}

export interface StoreOptions {
  readonly config: Config;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly onNotice: (notice: StoreNotice) => void;
  /** There may be new events in the log, of this server or of another one. */
  readonly onNews: () => void;
}

/** Whether the data is in a database that other servers use, too. */
export function isShared({ database }: Config): boolean {
  return database.url !== '';
}

/** A command of the command line may hold the folder for a moment. */
const LOCK_ATTEMPTS = 20;
const LOCK_INTERVAL_MS = 100;

/** Opens the store for a server, in a folder that this process then has for itself. */
export async function openServersStore(options: StoreOptions): Promise<Store> {
  const { data } = options.config;
  createFolderOrExplain(data);
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
    const store = await openOrNull(options, true);
    if (store !== null) return store;
    await delay(LOCK_INTERVAL_MS);
  }
  throw new StartError(
    `The data folder ${data} is in use by ${describeHolder(data)}. Stop it first, or choose another folder.`,
  );
}

/**
 * Opens the store for a command, while the server of this folder is stopped; `null`: it runs, or another
 * command does. Other servers on the same database may go on meanwhile.
 */
export async function openStoppedStore(options: StoreOptions): Promise<Store | null> {
  const { config } = options;
  if (isShared(config) || hasData(config.data)) return openOrNull(options, false);
  // A server whose data is in a database runs in a folder without any, and can be asked without its URL.
  if (isHeld(config.data)) return null;
  const problem = explainFolder(config.data);
  if (problem !== null) throw new StartError(problem);
  const file = join(config.data, DATABASE_FILE);
  if (existsSync(file)) throw new StartError(`${file} is empty: this is not a copy of a server's data.`);
  throw new StartError(
    `There is no data in ${config.data}. Start the server once, name its folder with --data, or set ` +
      'BERTH_DATABASE_URL if its data is in a database.',
  );
}

/** Whether a server or a command has the folder; then whoever wants something asks it, and needs no store. */
export function isTaken(options: Pick<StoreOptions, 'config' | 'env'>): boolean {
  const { config } = options;
  if (isShared(config) || hasData(config.data)) refuseShared(options);
  return isHeld(config.data);
}

/** Looks without leaving a lock file where there was none. */
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
  // Without a folder there is no server that could run in it.
  const lock = existsSync(config.data) ? lockFolder(config.data) : NO_LOCK;
  if (lock === null) return null;
  try {
    return holdFolder(await openShared(options, isServing), lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Whoever can write the folder or the master key can lend slots and make accounts. */
function refuseShared(options: Pick<StoreOptions, 'config' | 'env'>): void {
  const problem = explainSharing(guardedPaths(options), options.env, explainWritable);
  if (problem !== null) throw new StartError(problem);
}

/** A sentence about whoever can read them; `null`: nobody else can. */
export function findReadable(options: Pick<StoreOptions, 'config' | 'env'>): string | null {
  return explainSharing(guardedPaths(options), options.env, explainReadable);
}

function guardedPaths({ config, env }: Pick<StoreOptions, 'config' | 'env'>): readonly string[] {
  return [config.data, findMasterKey({ config, env }).file];
}

/** A command leaves it as it is: it may just lack the server's settings. */
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

/** Puts the master key of an export in its place, and answers its fingerprint. */
export async function importMasterKey(
  options: Pick<StoreOptions, 'config' | 'env' | 'version'>,
  text: string,
  passphrase: string,
): Promise<string> {
  const { config } = options;
  const { masterKey: key } = await openExport(text, passphrase);
  // A server that is to join the others has no folder yet.
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

/** Only the key that fits opens the database; with another one this throws, and says which one is needed. */
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
