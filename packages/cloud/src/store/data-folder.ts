import type { KeyObject } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from './database.ts';
import { createShelf, type Shelf } from './shelf.ts';
import { createSigningKey, readSigningKey } from './signing-key.ts';

const DATABASE_FILE = 'cloud.db';
const SIGNING_KEY_FILE = 'signing-key.pem';

/** Everything that the cloud keeps: one folder, for nobody but its owner. */
export interface DataFolder {
  readonly shelf: Shelf;
  readonly signingKey: KeyObject;
  close(): void;
}

/** The folder cannot be used as it is. The message is for people. */
export class DataFolderError extends Error {}

export function hasData(folder: string): boolean {
  return existsSync(join(folder, DATABASE_FILE));
}

/** Opens a folder, or makes a new one with a new signing key. Others may have it open at the same time. */
export function openDataFolder(folder: string): DataFolder {
  // Whatever this process creates from here on is for its owner only.
  process.umask(0o077);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const keyFile = join(folder, SIGNING_KEY_FILE);
  // Asked in this order, as another process may be making both: first the key, then the database.
  const isNew = !hasData(folder);
  if (isNew) createSigningKey(keyFile);
  else if (!existsSync(keyFile)) throw new DataFolderError(missingKey(keyFile));
  const db = openDatabase(join(folder, DATABASE_FILE));
  return { shelf: createShelf(db), signingKey: readSigningKey(keyFile), close: () => db.close() };
}

/** Never replaced by a new one in silence: servers out there trust the old one alone. */
function missingKey(file: string): string {
  return `The signing key ${file} is missing. Put it back from a backup: servers trust no other key.`;
}
