import { existsSync, readFileSync } from 'node:fs';
import { removeDurably, renameDurably } from '@berth/shell/files/durable-file';
import { parseMasterKey, writeKeyFile } from './master-key.ts';
import { fingerprint, type MasterKey, SealError } from './seal.ts';

/**
 * How a key file is replaced. The new key is on disk before it seals anything (`stage`), and replaces the old
 * one once everything is sealed with it (`settle`). If the server dies in between, one of the two files opens
 * the store, and `settle` finds out which at the next start.
 */
function nextKeyFile(file: string): string {
  return `${file}.next`;
}

export function stageNextKey(file: string, key: MasterKey): void {
  writeKeyFile(nextKeyFile(file), key);
}

/** The staged key for `file`; `null` if there is none, or it cannot be read. */
export function findNextKey(file: string): MasterKey | null {
  const next = nextKeyFile(file);
  if (!existsSync(next)) return null;
  try {
    return parseMasterKey(readFileSync(next, 'utf8'), next);
  } catch (error) {
    // It is staged before it seals anything, so an invalid key has sealed nothing.
    if (error instanceof SealError) return null;
    throw error;
  }
}

/** `sealedBy`: the fingerprint of the key that the store is certainly sealed with. */
export function settleNextKey(file: string, sealedBy: string): void {
  const next = nextKeyFile(file);
  if (!existsSync(next)) return;
  const key = findNextKey(file);
  if (key !== null && fingerprint(key) === sealedBy) renameDurably(next, file);
  else removeDurably(next);
}
