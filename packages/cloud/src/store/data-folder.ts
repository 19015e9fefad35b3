import type { KeyObject } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { writeAirgapPublicKey } from '@berth/protocol/carried/airgap-codes';
import { explainSharing, explainWritable } from '@berth/shell/files/file-sharing';
import { createPrivateFolder, explainFolder } from '@berth/shell/files/folder-access';
import { type CloudStore, createCloudStore } from './cloud-store.ts';
import { DataFolderError, missingKey } from './data-folder-error.ts';
import { openDatabase } from './database.ts';
import { createAirgapKey, createSigningKey, readKeyFile } from './keys/key-files.ts';
import { FIRST_KEY_FILE, type KeyRing, openKeyRing } from './keys/key-ring.ts';

export const DATABASE_FILE = 'cloud.db';
export const AIRGAP_KEY_FILE = 'airgap-key.pem';

/** All data of the cloud: one folder, accessible only to its owner. */
export interface DataFolder {
  readonly path: string;
  readonly store: CloudStore;
  readonly keyRing: KeyRing;
  /** Signs the confirmation codes of the air gap. */
  readonly airgapKey: KeyObject;
  close(): void;
}

/** Throws if the folder is not accessible. */
export function hasData(folder: string): boolean {
  requireUsable(folder);
  return existsSync(join(folder, DATABASE_FILE));
}

/** Opens a folder, or creates one with new keys. Other processes may have it open at the same time. */
export function openDataFolder(folder: string): DataFolder {
  prepareFolder(folder);
  // The order matters if another process is creating both: it writes the key before the database.
  if (!hasData(folder)) createSigningKey(join(folder, FIRST_KEY_FILE));
  const db = openDatabase(join(folder, DATABASE_FILE));
  try {
    const store = createCloudStore(db);
    const airgapKey = openAirgapKey(store, join(folder, AIRGAP_KEY_FILE));
    const keyRing = openKeyRing(store, folder);
    return { path: folder, store, keyRing, airgapKey, close: () => db.close() };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Creates the folder unless it exists, and makes sure that nobody else can change what is in it. */
export function prepareFolder(folder: string): void {
  // Make all files that this process creates private to their owner.
  process.umask(0o077);
  createFolder(folder);
  requireUsable(folder);
  // Anyone who can write here can sign licenses.
  const problem = explainSharing([folder, ...listKeyFiles(folder)], process.env, explainWritable);
  if (problem !== null) throw new DataFolderError(problem);
}

/** The files of private keys in a folder that exists. */
export function listKeyFiles(folder: string): readonly string[] {
  const isKey = /^(?:signing-key(?:-[0-9a-f]+)?|airgap-key)\.pem$/;
  return readdirSync(folder)
    .filter((name) => isKey.test(name))
    .map((name) => join(folder, name));
}

function createFolder(folder: string): void {
  try {
    createPrivateFolder(folder);
  } catch (error) {
    throw new DataFolderError(`The data folder ${folder} cannot be created: ${(error as Error).message}`);
  }
}

function requireUsable(folder: string): void {
  const written = [join(folder, DATABASE_FILE)];
  const problem =
    explainFolder(folder, { written, read: [] }) ??
    (existsSync(folder) ? explainFolder(folder, { written, read: listKeyFiles(folder) }) : null);
  if (problem !== null) throw new DataFolderError(problem);
}

/** A new folder has no such key yet; once created, the key must stay the same. */
function openAirgapKey({ sql }: CloudStore, file: string): KeyObject {
  const isKnown = sql.findAirgapPublicKey.get()?.airgap_public_key !== null;
  if (!isKnown) createAirgapKey(file);
  else if (!existsSync(file)) throw missingKey('air-gap', file);
  const key = readKeyFile(file);
  const publicKey = writeAirgapPublicKey(key);
  if (!isKnown) sql.setAirgapPublicKey.run(publicKey);
  if (sql.findAirgapPublicKey.get()?.airgap_public_key === publicKey) return key;
  throw new DataFolderError(`${file} is a different air-gap key. Restore the right one from a backup.`);
}
