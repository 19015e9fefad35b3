import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { networksOf } from '@berth/protocol/address-range';
import { LIMITS } from '../../config.ts';
import { isGuessable } from '../../core/access/guessable-password.ts';
import { createFairQueue } from '../lending/fair-queue.ts';
import { RequestError } from '../request-error.ts';

const deriveKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** 32 MiB and a few hundredths of a second for each guess. */
const COST = { N: 32768, r: 8, p: 1, maxmem: 64 * 1024 * 1024 } as const;
const KEY_BYTES = 32;
const SALT_BYTES = 16;

/**
 * At most two at once: passwords must not be able to take the machine. Those who wait take turns by where
 * they come from, so that guesses from some addresses keep nobody else from signing in.
 */
const turns = createFairQueue({
  atOnce: LIMITS.passwordChecksAtOnce,
  mostWaiting: LIMITS.passwordChecksWaiting,
  refusal: 'Too many sign-ins at once. Try again in a few seconds.',
});

/** A server that stops does not work off what waits. */
export async function dismissPasswords(): Promise<void> {
  turns.dismiss();
}

/** Whoever sets a password has shown who they are, and does not queue with those who guess. */
const SETTING: readonly string[] = ['setting a password'];

/** `scrypt$N$r$p$salt$key`, the last two in base64. Only tests set the cost `N`. */
export async function hashPassword(password: string, N: number = COST.N): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const derive = () => deriveKey(password.normalize('NFC'), salt, KEY_BYTES, { ...COST, N });
  const key = await turns.run(SETTING, derive);
  return ['scrypt', N, COST.r, COST.p, salt.toString('base64'), key.toString('base64')].join('$');
}

/**
 * For an account that does not exist the work is done all the same, so that the time tells nothing.
 * `address`: where the guess comes from. `signal`: whoever guesses has gone away.
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
 * Length is what makes a password hard to guess, unless it is what others choose, too; what it is made of is
 * its owner's business.
 */
export function requireGoodPassword(password: string, account: string): void {
  const text = password.normalize('NFC');
  const isOfLength = [...text].length >= SHORTEST_PASSWORD && text.length <= LONGEST_PASSWORD;
  if (!isOfLength || CONTROL_CHARACTER.test(text)) {
    throw badPassword(
      `The new password must have ${SHORTEST_PASSWORD} to ${LONGEST_PASSWORD} characters, none of them a ` +
        'control character.',
    );
  }
  if (isGuessable(text, [account])) {
    throw badPassword(
      'The new password is easy to guess: it is mostly common words, names, sequences or repeats. Choose ' +
        'another, such as four words that have nothing to do with each other.',
    );
  }
}

function badPassword(message: string): RequestError {
  return new RequestError('validation_error', message, { field: 'passwordNew' });
}

/**
 * Letters and digits that cannot be mistaken for one another, in groups: to be read from a screen and typed.
 */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const GROUPS = 5;
const GROUP_LENGTH = 5;

export function makeUpPassword(): string {
  const group = () => Array.from({ length: GROUP_LENGTH }, pickLetter).join('');
  return Array.from({ length: GROUPS }, group).join('-');
}

function pickLetter(): string {
  for (;;) {
    const byte = randomBytes(1)[0] as number;
    // Bytes beyond the last whole multiple would make some letters likelier than others.
    if (byte < 256 - (256 % ALPHABET.length)) return ALPHABET[byte % ALPHABET.length] as string;
  }
}
