import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeNewFile } from './durable-file.ts';
import { type MasterKey, SealError } from './seal.ts';

/** Where the master key comes from. */
export interface MasterKeySource {
  /** `BERTH_MASTER_KEY`: the key itself, in hex or base64. */
  readonly value: string | null;
  /** `BERTH_MASTER_KEY_FILE`, or the file in the data folder. */
  readonly file: string;
}

/** What the environment says about it; `null` where it says nothing. */
export interface GivenKey {
  readonly value: string | null;
  readonly file: string | null;
}

interface LoadOptions extends MasterKeySource {
  /** Make up a key when there is none: only where nothing has been sealed yet. */
  readonly mayCreate: boolean;
}

const MASTER_KEY_FILE = 'master.key';

/** Where the master key of a folder comes from, given what the environment says about it. */
export function findKeySource(folder: string, { value, file }: GivenKey): MasterKeySource {
  return { value, file: file ?? join(folder, MASTER_KEY_FILE) };
}

export const KEY_BYTES = 32;

/** The whole text, because Node skips what it cannot read: a mistyped key must not pass for another one. */
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

/** `origin` is where the text comes from: the text itself is never shown. */
export function parseMasterKey(text: string, origin: string): MasterKey {
  const trimmed = text.trim();
  if (HEX.test(trimmed)) return Uint8Array.from(Buffer.from(trimmed, 'hex')) as MasterKey;
  if (BASE64.test(trimmed)) return Uint8Array.from(Buffer.from(trimmed, 'base64')) as MasterKey;
  throw new SealError(`The master key in ${origin} must be ${KEY_BYTES} bytes, written in hex or base64.`);
}

/** On disk before anything is sealed with it: a power cut must not leave a store without its key. */
export function writeKeyFile(file: string, key: MasterKey): void {
  writeNewFile(file, `${Buffer.from(key).toString('hex')}\n`);
}
