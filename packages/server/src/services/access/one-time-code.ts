import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { SECOND_MS } from '../../core/nouns/instant.ts';
import { generatePassword } from './passwords.ts';

/** What every authenticator app supports (RFC 6238): SHA-1, six digits, a new code every 30 seconds. */
const DIGITS = 6;
const STEP_SECONDS = 30;

/** Clocks of phones differ, and typing takes a while: the code before and the one after count, too. */
const STEPS_APART = 1;

/** As long as the hash, as RFC 4226 recommends. */
const SECRET_BYTES = 20;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** In base32, as apps take it. */
export function makeSecret(): string {
  const groups = regroup([...randomBytes(SECRET_BYTES)], 8, 5);
  return groups.map((five) => BASE32[five]).join('');
}

/** Whether it may have come from `makeSecret`. */
export function isSecret(text: string): boolean {
  return /^[A-Z2-7]{32}$/.test(text);
}

function decodeSecret(secret: string): Buffer {
  const groups = [...secret].map((sign) => BASE32.indexOf(sign));
  return Buffer.from(regroup(groups, 5, 8));
}

/** The same bits in groups of another size. */
function regroup(groups: readonly number[], from: number, to: number): readonly number[] {
  const bits = groups.map((group) => group.toString(2).padStart(from, '0')).join('');
  const count = Math.floor(bits.length / to);
  return Array.from({ length: count }, (_, n) => Number.parseInt(bits.slice(n * to, (n + 1) * to), 2));
}

/** What an app reads from a QR code. */
export function addressOfSecret(secret: string, account: string, issuer: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`;
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}`;
}

/** The code of a time step. */
export function codeAt(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigInt64BE(BigInt(step));
  const hash = createHmac('sha1', decodeSecret(secret)).update(counter).digest();
  const number = hash.readUInt32BE((hash[hash.length - 1] as number) & 0xf) & 0x7fffffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0');
}

/** `now`: of the wall clock, which phones have, too. */
export function stepAt(now: number): number {
  return Math.floor(now / (STEP_SECONDS * SECOND_MS));
}

/** Which time step a code belongs to; `null`: none that counts now. The latest, if it belongs to several. */
export function findStep(secret: string, code: string, now: number): number | null {
  const sent = Buffer.from(code);
  let found: number | null = null;
  for (let step = stepAt(now) - STEPS_APART; step <= stepAt(now) + STEPS_APART; step++) {
    const right = Buffer.from(codeAt(secret, step));
    if (sent.length === right.length && timingSafeEqual(sent, right)) found = step;
  }
  return found;
}

/** For the day on which the device is lost. */
const RECOVERY_CODES = 10;
/** Of five letters: 74 random bits, so a plain hash is enough. */
const RECOVERY_GROUPS = 3;

export function makeRecoveryCodes(): readonly string[] {
  return Array.from({ length: RECOVERY_CODES }, () => generatePassword(RECOVERY_GROUPS));
}

/** However it was typed. */
export function normalizeCode(code: string): string {
  return code.replace(/[\s-]/g, '').toLowerCase();
}

export function hashRecoveryCode(account: string, code: string): string {
  return createHash('sha256')
    .update(`berth recovery code\n${account}\n${normalizeCode(code)}`)
    .digest('hex');
}
