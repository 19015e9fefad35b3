import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { networksOf } from '@berth/protocol/address-range';
import { LIMITS } from '../../config.ts';
import { isGuessable } from '../../core/access/guessable-password.ts';
import { createFairQueue } from '../lending/fair-queue.ts';
import { RequestError } from '../request-error.ts';

const deriveKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** 32 MiB and a few hundredths of a second per guess. */
const COST = { N: 32768, r: 8, p: 1, maxmem: 64 * 1024 * 1024 } as const;
const KEY_BYTES = 32;
const SALT_BYTES = 16;

/**
 * At most two at once, so that password checks cannot exhaust the machine. Waiting clients take turns by
 * address, so that guesses from some addresses do not keep others from signing in.
 */
const turns = createFairQueue({
  atOnce: LIMITS.passwordChecksAtOnce,
  mostWaiting: LIMITS.passwordChecksWaiting,
  refusal: 'Too many sign-ins at once. Try again in a few seconds.',
});

/** A stopping server drops waiting checks. */
export async function dismissPasswords(): Promise<void> {
  turns.dismiss();
}

/** Callers who set a password are authenticated and do not queue with guesses. */
const SETTING: readonly string[] = ['setting a password'];

/** `scrypt$N$r$p$salt$key`, the last two in base64. Only tests set the cost `N`. */
export async function hashPassword(password: string, N: number = COST.N): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const derive = () => deriveKey(password.normalize('NFC'), salt, KEY_BYTES, { ...COST, N });
  const key = await turns.run(SETTING, derive);
  return ['scrypt', N, COST.r, COST.p, salt.toString('base64'), key.toString('base64')].join('$');
}

/**
 * Does the same work for an account that does not exist, so that the time reveals nothing. `address`: where
 * the guess comes from. `signal`: the client has disconnected.
 */
export async function checkPassword(
  password: string,
  hash: string | null,
  address: string,
  signal?: AbortSignal,
): Promise<boolean> {
  const [, n, r, p, salt, key] = (hash ?? NOBODY).split('$') as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const cost = { ...COST, N: Number(n), r: Number(r), p: Number(p) };
  const expected = Buffer.from(key, 'base64');
  const derive = () =>
    deriveKey(password.normalize('NFC'), Buffer.from(salt, 'base64'), expected.length, cost);
  const actual = await turns.run(networksOf(address), derive, signal);
  return timingSafeEqual(actual, expected) && hash !== null;
}

const NOBODY = [
  'scrypt',
  COST.N,
  COST.r,
  COST.p,
  'AAAAAAAAAAAAAAAAAAAAAA==',
  Buffer.alloc(32).toString('base64'),
].join('$');

const SHORTEST_PASSWORD = 12;
const LONGEST_PASSWORD = 256;
const CONTROL_CHARACTER = /\p{Cc}/u;

/**
 * Length makes a password hard to guess, unless it is a common one; there are no rules about its characters.
 */
export function requireGoodPassword(password: string, account: string): void {
  const text = password.normalize('NFC');
  const isOfLength = [...text].length >= SHORTEST_PASSWORD && text.length <= LONGEST_PASSWORD;
  if (!isOfLength || CONTROL_CHARACTER.test(text)) {
    throw badPassword(
      `The new password must have ${SHORTEST_PASSWORD} to ${LONGEST_PASSWORD} characters and no control ` +
        'characters.',
    );
  }
  if (isGuessable(text, [account])) {
    throw badPassword(
      'The new password is easy to guess: it consists mostly of common words, names, sequences or repeats. ' +
        'Choose another one, such as four unrelated words.',
    );
  }
}

function badPassword(message: string): RequestError {
  return new RequestError('validation_error', message, { field: 'passwordNew' });
}

/**
 * Groups of letters and digits that are easy to tell apart, for reading from a screen and typing.
 */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const GROUPS = 5;
const GROUP_LENGTH = 5;

export function makeUpPassword(): string {
  const group = () => Array.from({ length: GROUP_LENGTH }, pickLetter).join('');
  return Array.from({ length: GROUPS }, group).join('-');
}

export interface OneTimePassword {
  readonly password: string;
  readonly passwordHash: string;
}

export async function makeOneTimePassword(cost?: number): Promise<OneTimePassword> {
  const password = makeUpPassword();
  return { password, passwordHash: await hashPassword(password, cost) };
}

function pickLetter(): string {
  for (;;) {
    const byte = randomBytes(1)[0] as number;
    // Bytes above the last whole multiple would make some letters more likely.
    if (byte < 256 - (256 % ALPHABET.length)) return ALPHABET[byte % ALPHABET.length] as string;
  }
}
