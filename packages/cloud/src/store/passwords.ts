import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const deriveKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** 32 MiB and some tens of milliseconds per guess. */
const COST = { N: 32768, r: 8, p: 1, maxmem: 64 * 1024 * 1024 } as const;
const KEY_BYTES = 32;
const SALT_BYTES = 16;

/** `scrypt$salt$key`, both in base64. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const key = await deriveKey(password.normalize('NFC'), salt, KEY_BYTES, COST);
  return ['scrypt', salt.toString('base64'), key.toString('base64')].join('$');
}

const DUMMY_HASH = [
  'scrypt',
  ...[SALT_BYTES, KEY_BYTES].map((size) => Buffer.alloc(size).toString('base64')),
].join('$');

/** How many password checks may run or wait at once: each takes a core and memory. */
const MAX_AT_ONCE = 32;
let running = 0;

/** Does the work for an unknown user too, so that the time reveals nothing. */
export async function isPassword(password: string, hash: string | null): Promise<boolean> {
  if (running >= MAX_AT_ONCE) throw new TooManyPasswords();
  running += 1;
  try {
    const [, salt = '', key = ''] = (hash ?? DUMMY_HASH).split('$');
    const actual = await deriveKey(password.normalize('NFC'), Buffer.from(salt, 'base64'), KEY_BYTES, COST);
    return timingSafeEqual(actual, Buffer.from(key, 'base64')) && hash !== null;
  } finally {
    running -= 1;
  }
}

export class TooManyPasswords extends Error {}
