import { existsSync, readFileSync } from 'node:fs';
import { removeDurably, renameDurably } from './durable-file.ts';
import { parseMasterKey, writeKeyFile } from './master-key.ts';
import { fingerprint, type MasterKey, SealError } from './seal.ts';

/**
 * How a key file is replaced. The new key is on disk before anything is sealed with it (`stage`), and takes
 * the place of the old one when everything is (`settle`). Whenever the server is lost in between, one of the
 * two files opens the store, and `settle` finds out which when it is opened again.
 */
function nextKeyFile(file: string): string {
  return `${file}.next`;
}

export function stageNextKey(file: string, key: MasterKey): void {
  writeKeyFile(nextKeyFile(file), key);
}

/** The key that was to take the place of the one in `file`; `null` when there is none, or none to be read. */
export function findNextKey(file: string): MasterKey | null {
  const next = nextKeyFile(file);
  if (!existsSync(next)) return null;
  try {
    return parseMasterKey(readFileSync(next, 'utf8'), next);
  } catch (error) {
    // It is staged before it seals anything, so what is no key has sealed nothing.
    if (error instanceof SealError) return null;
    throw error;
  }
}

/** `sealedBy` is the fingerprint of the key that the store is certainly sealed with. */
export function settleNextKey(file: string, sealedBy: string): void {
  const next = nextKeyFile(file);
  if (!existsSync(next)) return;
  const key = findNextKey(file);
  if (key !== null && fingerprint(key) === sealedBy) renameDurably(next, file);
  else removeDurably(next);
}
