import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../core/nouns/fault.ts';
import type { StoreNotice } from '../../core/nouns/store-notice.ts';
import { syncFolder } from '../../secrets/durable-file.ts';
import { findNextKey, settleNextKey } from '../../secrets/key-rotation.ts';
import {
  findKeySource,
  type GivenKey,
  loadMasterKey,
  type MasterKeySource,
} from '../../secrets/master-key.ts';
import { SealError } from '../../secrets/seal.ts';
import { systemClock } from '../clock.ts';
import { findSealingFingerprint } from '../engine/sealed-secrets.ts';
import { DATABASE_FILE, explainFolder, hasData } from '../folder-access.ts';
import { chownToFolderOwner, type FolderLock, holdFolder, lockFolder } from '../folder-lock.ts';
import type { Store } from '../store.ts';
import { openInThreadStore } from './in-thread-store.ts';
import { openThreadedStore } from './threaded-store.ts';
import { explainCorruption } from './wire/damage.ts';
import { openReadOnly } from './wire/database.ts';
import { asFull } from './wire/disk-full.ts';
import { refuseMoved } from './wire/moved-mark.ts';
import { listSecrets } from './wire/sealed-secrets.ts';

export interface DataFolderOptions {
  readonly folder: string;
  readonly masterKey: GivenKey;
  readonly onNotice: (notice: StoreNotice) => void;
  /** A server has threads; a command that opens a stopped server's data does without. */
  readonly useThreads: boolean;
  /** Whether users that differ only in case are one; left out, it stays as it is. */
  readonly ignoresCase?: boolean | undefined;
}

/** Opens the store in a folder, which this process then has for itself. `null`: another process has it. */
export async function openDataFolder(options: DataFolderOptions): Promise<Store | null> {
  const lock = lockOrExplain(options.folder);
  if (lock === null) return null;
  try {
    refuseMoved(options.folder);
    return holdFolder(await openStore(options), lock);
  } catch (error) {
    lock.release();
    throw explainFailure(error, options.folder);
  }
}

function lockOrExplain(folder: string): FolderLock | null {
  try {
    return lockFolder(folder);
  } catch (error) {
    throw asFull((error as Error).cause, folder) ?? error;
  }
}

/** Which master key the data in a folder is sealed with; `null`: there is no data, or no secret in it yet. */
export function findSealedBy(folder: string): string | null {
  if (!hasData(folder)) return null;
  const file = join(folder, DATABASE_FILE);
  const db = openReadOnly(file);
  try {
    return explainCorruption(file, () => findSealingFingerprint(listSecrets(db)));
  } finally {
    db.close();
  }
}

/** Every reason why a folder cannot be opened has its own message; none of them is a bug. */
export function explainFailure(error: unknown, folder: string | null = null): Error {
  if (error instanceof SealError) return error;
  const full = folder === null ? null : asFull(error, folder);
  if (full !== null) return full;
  const known = folder === null ? null : explainFolder(folder);
  if (error instanceof Fault && known === null) return error;
  const message = known ?? (error instanceof Error ? error.message : String(error));
  return new Fault('store_unavailable', message, { cause: error });
}

async function openStore(given: DataFolderOptions): Promise<Store> {
  const { folder, masterKey, onNotice, useThreads, ignoresCase } = given;
  const file = join(folder, DATABASE_FILE);
  const isNew = !existsSync(file);
  const source = findKeySource(folder, masterKey);
  const options = { file, onNotice, ignoresCase, ...loadMasterKeys(source, isNew) };
  const store = useThreads
    ? await openThreadedStore(options)
    : openInThreadStore({ ...options, clock: systemClock, resumeAtOpen: false });
  try {
    if (isNew) syncFolder(folder);
    chownToFolderOwner(folder);
    // The file is open and recovered, so the key that seals it now is final.
    const { sealedBy } = await store.read({ kind: 'describe_seal' });
    if (source.value === null && store.isHealthy()) settleNextKey(source.file, sealedBy);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The key, and the one that was to replace it if a rotation was interrupted. */
function loadMasterKeys(source: MasterKeySource, mayCreate: boolean) {
  const nextMasterKey = source.value === null ? findNextKey(source.file) : null;
  return { masterKey: loadMasterKey({ ...source, mayCreate }), nextMasterKey };
}
