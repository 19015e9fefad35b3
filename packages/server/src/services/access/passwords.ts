import { randomBytes, type ScryptOptions, scrypt, scryptSync, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { networksOf } from '@berth/protocol/address-range';
import { RequestError } from '@berth/protocol/request-error';
import { LIMITS } from '../../config.ts';
import { isGuessable } from '../../core/access/guessable-password.ts';
import { createFairQueue } from '../lending/fair-queue.ts';
import { isKnownPassword } from './known-passwords.ts';

const deriveKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt);

type Cost = Readonly<Record<'N' | 'r' | 'p', number>>;

/** 32 MiB and a few hundredths of a second per guess. */
const COST = { N: 32768, r: 8, p: 1, maxmem: 64 * 1024 * 1024 } as const;
/** For generated passwords: nobody can guess 124 random bits, so a guess need not take long. */
const QUICK_COST = { N: 2, r: 1, p: 1 } as const;
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
  return format({ ...COST, N }, salt, await turns.run(SETTING, derive));
}

/** A generated password, which is shown only once. */
interface OneTimePassword {
  readonly password: string;
  readonly passwordHash: string;
}

export function makeOneTimePassword(): OneTimePassword {
  const password = generatePassword();
  const salt = randomBytes(SALT_BYTES);
  return { password, passwordHash: format(QUICK_COST, salt, deriveQuickly(password, salt)) };
}

function deriveQuickly(text: string, salt: Buffer): Buffer {
  return scryptSync(text, salt, KEY_BYTES, QUICK_COST);
}

function format({ N, r, p }: Cost, salt: Buffer, key: Buffer): string {
  return ['scrypt', N, r, p, salt.toString('base64'), key.toString('base64')].join('$');
}

/**
 * Does the same work for every account, whether it has a password, a generated one or does not exist, so that
 * the time reveals nothing. `address`: where the guess comes from. `signal`: the client has disconnected.
 * Only tests set the cost `N`.
 */
export async function checkPassword(
  password: string,
  hash: string | null,
  address: string,
  signal?: AbortSignal,
  N: number = COST.N,
): Promise<boolean> {
  const [, n, r, p, salt64, key] = (hash ?? NO_PASSWORD).split('$') as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const text = password.normalize('NFC');
  const salt = Buffer.from(salt64, 'base64');
  const isQuick = Number(n) === QUICK_COST.N;
  const cost = isQuick ? { ...COST, N } : { ...COST, N: Number(n), r: Number(r), p: Number(p) };
  const slow = await turns.run(networksOf(address), () => deriveKey(text, salt, KEY_BYTES, cost), signal);
  // Generated passwords have no capitals, but phones and people type some.
  const quick = deriveQuickly(text.toLowerCase(), salt);
  return timingSafeEqual(isQuick ? quick : slow, Buffer.from(key, 'base64')) && hash !== null;
}

const NO_PASSWORD = format(COST, Buffer.alloc(SALT_BYTES), Buffer.alloc(KEY_BYTES));

const SHORTEST_PASSWORD = 12;
const LONGEST_PASSWORD = 256;
const CONTROL_CHARACTER = /\p{Cc}/u;

/**
 * Length makes a password hard to guess, unless it is a common one; there are no rules about its characters.
 */
export async function requireGoodPassword(password: string, account: string): Promise<void> {
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
  if (await isKnownPassword(text)) {
    throw badPassword(
      'The new password is on a list of passwords that were stolen elsewhere, which guessers try first. ' +
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

export function generatePassword(groups = GROUPS): string {
  const group = () => Array.from({ length: GROUP_LENGTH }, pickLetter).join('');
  return Array.from({ length: groups }, group).join('-');
}

function pickLetter(): string {
  for (;;) {
    const byte = randomBytes(1)[0] as number;
    // Bytes above the last whole multiple would make some letters more likely.
    if (byte < 256 - (256 % ALPHABET.length)) return ALPHABET[byte % ALPHABET.length] as string;
  }
}
