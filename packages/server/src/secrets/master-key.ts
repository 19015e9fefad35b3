import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeNewFile } from '@berth/shell/files/durable-file';
import { type MasterKey, SealError } from './seal.ts';

/** Where the master key comes from. */
export interface MasterKeySource {
  /** `BERTH_MASTER_KEY`: the key itself, in hex or base64. */
  readonly value: string | null;
  /** `BERTH_MASTER_KEY_FILE`, or the file in the data folder. */
  readonly file: string;
}

/** The values from the environment; `null` if not set. */
export interface GivenKey {
  readonly value: string | null;
  readonly file: string | null;
}

interface LoadOptions extends MasterKeySource {
  /** Whether to generate a missing key: only if nothing has been sealed yet. */
  readonly mayCreate: boolean;
}

const MASTER_KEY_FILE = 'master.key';

/** Where the master key of a folder comes from, given the environment. */
export function findKeySource(folder: string, { value, file }: GivenKey): MasterKeySource {
  return { value, file: file ?? join(folder, MASTER_KEY_FILE) };
}

const KEY_BYTES = 32;

/** Checks the whole text, because Node skips invalid characters: a mistyped key must not pass as another. */
const HEX = /^[0-9a-f]{64}$/i;
const BASE64 = /^[\w+/-]{43}=?$/;

export function loadMasterKey({ value, file, mayCreate }: LoadOptions): MasterKey {
  if (value !== null) return parseMasterKey(value, 'BERTH_MASTER_KEY');
  if (!existsSync(file) && mayCreate) writeKeyFile(file, makeMasterKey());
  if (!existsSync(file)) {
    throw new SealError(
      `The master key ${file} is missing. Without it the secrets of this store cannot be read.`,
    );
  }
  return parseMasterKey(readFileSync(file, 'utf8'), file);
}

export function makeMasterKey(): MasterKey {
  return Uint8Array.from(randomBytes(KEY_BYTES)) as MasterKey;
}

/** `origin`: where the text comes from. The text itself is never shown. */
export function parseMasterKey(text: string, origin: string): MasterKey {
  const trimmed = text.trim();
  if (HEX.test(trimmed)) return Uint8Array.from(Buffer.from(trimmed, 'hex')) as MasterKey;
  if (BASE64.test(trimmed)) return Uint8Array.from(Buffer.from(trimmed, 'base64')) as MasterKey;
  throw new SealError(`The master key in ${origin} must be ${KEY_BYTES} bytes, written in hex or base64.`);
}

/** On disk before it seals anything, so that a power cut cannot leave a store without its key. */
export function writeKeyFile(file: string, key: MasterKey): void {
  writeNewFile(file, `${Buffer.from(key).toString('hex')}\n`);
}
