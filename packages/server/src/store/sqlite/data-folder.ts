import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../core/fault.ts';
import type { StoreNotice } from '../../core/store-notice.ts';
import { syncFolder } from '../../secrets/durable-file.ts';
import { findNextKey, settleNextKey } from '../../secrets/key-rotation.ts';
import { loadMasterKey, type MasterKeySource } from '../../secrets/master-key.ts';
import { SealError } from '../../secrets/seal.ts';
import { systemClock } from '../clock.ts';
import type { Store } from '../store.ts';
import { type FolderLock, lockFolder } from './folder-lock.ts';
import { openInThreadStore } from './in-thread-store.ts';
import { openThreadedStore } from './threaded-store.ts';

export const DATABASE_FILE = 'berth.db';
const MASTER_KEY_FILE = 'master.key';

export interface DataFolderOptions {
  readonly folder: string;
  readonly masterKey: { readonly value: string | null; readonly file: string | null };
  readonly onNotice: (notice: StoreNotice) => void;
  /** A server has threads; a command that opens a stopped server's data does without. */
  readonly useThreads: boolean;
}

/** Creates the folder for nobody but its owner. */
export function createDataFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}

export function hasData(folder: string): boolean {
  return existsSync(join(folder, DATABASE_FILE));
}

/** Opens the store in a folder, which this process then has for itself. `null`: another process has it. */
export async function openDataFolder(options: DataFolderOptions): Promise<Store | null> {
  // Whatever this process creates from here on is for its owner only.
  process.umask(0o077);
  const lock = takeLock(options.folder);
  if (lock === null) return null;
  try {
    return withLock(await openStore(options), lock);
  } catch (error) {
    lock.release();
    throw explain(error);
  }
}

/** The folder for this process alone; `null` when another one has it. */
export function takeLock(folder: string): FolderLock | null {
  try {
    return lockFolder(folder);
  } catch (error) {
    throw explain(error);
  }
}

/**
 * Everything that keeps a folder from being opened has a sentence of its own; none of it is a bug of ours.
 */
function explain(error: unknown): Error {
  if (error instanceof Fault || error instanceof SealError) return error;
  return new Fault('store_unavailable', error instanceof Error ? error.message : String(error), {
    cause: error,
  });
}

async function openStore({ folder, masterKey, onNotice, useThreads }: DataFolderOptions): Promise<Store> {
  const file = join(folder, DATABASE_FILE);
  const isNew = !existsSync(file);
  const source = findKeySource(folder, masterKey);
  const options = { file, onNotice, ...loadMasterKeys(source, isNew) };
  const store = useThreads
    ? await openThreadedStore(options)
    : openInThreadStore({ ...options, clock: systemClock, resumeAtOpen: false });
  try {
    if (isNew) syncFolder(folder);
    // The file is open and whole: what it is sealed with now is what it stays sealed with.
    const { sealedBy } = await store.read({ kind: 'describe_seal' });
    if (source.value === null) settleNextKey(source.file, sealedBy);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Where the master key of a folder comes from, given what the environment says about it. */
export function findKeySource(folder: string, given: DataFolderOptions['masterKey']): MasterKeySource {
  return { value: given.value, file: given.file ?? join(folder, MASTER_KEY_FILE) };
}

/** The key, and the one that was to take its place when a rotation was cut short. */
function loadMasterKeys(source: MasterKeySource, mayCreate: boolean) {
  const nextMasterKey = source.value === null ? findNextKey(source.file) : null;
  return { masterKey: loadMasterKey({ ...source, mayCreate }), nextMasterKey };
}

function withLock(store: Store, lock: FolderLock): Store {
  return {
    execute: (command) => store.execute(command),
    read: (query) => store.read(query),
    keepClock: () => store.keepClock(),
    isHealthy: () => store.isHealthy(),
    isLeader: () => store.isLeader(),
    async close() {
      await store.close();
      lock.release();
    },
  };
}
