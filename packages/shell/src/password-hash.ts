import { randomBytes, type ScryptOptions, scrypt } from 'node:crypto';
import { promisify } from 'node:util';

/** The parameters of scrypt. */
export type Cost = Readonly<Record<'N' | 'r' | 'p', number>>;

interface PasswordHash {
  readonly cost: Cost;
  readonly salt: Buffer;
  readonly key: Buffer;
}

/** 32 MiB and some hundredths of a second per guess. */
export const COST: Cost = { N: 32768, r: 8, p: 1 };
const MAX_MEMORY_BYTES = 64 * 1024 * 1024;
export const KEY_BYTES = 32;
const SALT_BYTES = 16;

const deriveKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

export function makeSalt(): Buffer {
  return randomBytes(SALT_BYTES);
}

export function derivePassword(password: string, salt: Buffer, cost: Cost): Promise<Buffer> {
  return deriveKey(password.normalize('NFC'), salt, KEY_BYTES, { ...cost, maxmem: MAX_MEMORY_BYTES });
}

/** `scrypt$N$r$p$salt$key`, the last two in base64. */
export function formatHash({ cost: { N, r, p }, salt, key }: PasswordHash): string {
  return ['scrypt', N, r, p, salt.toString('base64'), key.toString('base64')].join('$');
}

/** `null`: there is no password. Then it is one that takes as long and never fits. */
export function parseHash(hash: string | null): PasswordHash {
  if (hash === null) return { cost: COST, salt: Buffer.alloc(SALT_BYTES), key: Buffer.alloc(KEY_BYTES) };
  const [, N, r, p, salt = '', key = ''] = hash.split('$');
  const cost = { N: Number(N), r: Number(r), p: Number(p) };
  return { cost, salt: Buffer.from(salt, 'base64'), key: Buffer.from(key, 'base64') };
}
