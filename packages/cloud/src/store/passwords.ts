import { timingSafeEqual } from 'node:crypto';
import { COST, derivePassword, formatHash, makeSalt, parseHash } from '@berth/shell/password-hash';

export async function hashPassword(password: string): Promise<string> {
  const salt = makeSalt();
  return formatHash({ cost: COST, salt, key: await derivePassword(password, salt, COST) });
}

/** How many password checks may run or wait at once: each takes a core and memory. */
const MAX_AT_ONCE = 32;
let running = 0;

/** Does the work for an unknown user too, so that the time reveals nothing. */
export async function isPassword(password: string, hash: string | null): Promise<boolean> {
  if (running >= MAX_AT_ONCE) throw new TooManyPasswords();
  running += 1;
  try {
    const { cost, salt, key } = parseHash(hash);
    return timingSafeEqual(await derivePassword(password, salt, cost), key) && hash !== null;
  } finally {
    running -= 1;
  }
}

export class TooManyPasswords extends Error {}
