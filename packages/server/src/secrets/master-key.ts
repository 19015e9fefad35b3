import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type MasterKey, SealError } from './seal.ts';

export interface MasterKeySource {
  /** `BERTH_MASTER_KEY`: the key itself, in hex or base64. */
  readonly value: string | null;
  /** `BERTH_MASTER_KEY_FILE`, or the file in the data folder. */
  readonly file: string;
  /** Make up a key when there is none: only where nothing has been sealed yet. */
  readonly mayCreate: boolean;
}

const KEY_BYTES = 32;

/** The whole text, because Node skips what it cannot read: a mistyped key must not pass for another one. */
const HEX = /^[0-9a-f]{64}$/i;
const BASE64 = /^[\w+/-]{43}=?$/;

export function loadMasterKey({ value, file, mayCreate }: MasterKeySource): MasterKey {
  if (value !== null) return parseMasterKey(value, 'BERTH_MASTER_KEY');
  if (!existsSync(file) && mayCreate) createKeyFile(file);
  if (!existsSync(file)) {
    throw new SealError(
      `The master key ${file} is missing. Without it the secrets of this store cannot be read.`,
    );
  }
  return parseMasterKey(readFileSync(file, 'utf8'), file);
}

function parseMasterKey(text: string, origin: string): MasterKey {
  const trimmed = text.trim();
  if (HEX.test(trimmed)) return Uint8Array.from(Buffer.from(trimmed, 'hex')) as MasterKey;
  if (BASE64.test(trimmed)) return Uint8Array.from(Buffer.from(trimmed, 'base64')) as MasterKey;
  throw new SealError(`The master key in ${origin} must be ${KEY_BYTES} bytes, written in hex or base64.`);
}

/** On disk before anything is sealed with it: a power cut must not leave a store without its key. */
function createKeyFile(file: string): void {
  const draft = `${file}.new`;
  writeFileSync(draft, `${randomBytes(KEY_BYTES).toString('hex')}\n`, { mode: 0o600, flush: true });
  renameSync(draft, file);
  syncFolder(dirname(file));
}

/** Makes the names in a folder durable. Windows has no such thing, and does not need it. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
