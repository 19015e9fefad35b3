import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';
import { networksOf } from '@berth/protocol/address-range';
import { RequestError } from '@berth/protocol/request-error';
import {
  COST,
  type Cost,
  derivePassword,
  formatHash,
  KEY_BYTES,
  makeSalt,
  parseHash,
} from '@berth/shell/password-hash';
import { LIMITS } from '../../config.ts';
import { isGuessable } from '../../core/access/guessable-password.ts';
import { createFairQueue } from '../lending/fair-queue.ts';
import { isKnownPassword } from './known-passwords.ts';

/** For generated passwords: nobody can guess 124 random bits, so a guess need not take long. */
const QUICK_COST: Cost = { N: 2, r: 1, p: 1 };

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

/** Only tests set the cost `N`. */
export async function hashPassword(password: string, N: number = COST.N): Promise<string> {
  const [cost, salt] = [{ ...COST, N }, makeSalt()];
  const key = await turns.run(SETTING, () => derivePassword(password, salt, cost));
  return formatHash({ cost, salt, key });
}

/** A generated password, which is shown only once. */
interface OneTimePassword {
  readonly password: string;
  readonly passwordHash: string;
}

export function makeOneTimePassword(): OneTimePassword {
  const password = generatePassword();
  const salt = makeSalt();
  const key = deriveQuickly(password, salt);
  return { password, passwordHash: formatHash({ cost: QUICK_COST, salt, key }) };
}

function deriveQuickly(text: string, salt: Buffer): Buffer {
  return scryptSync(text, salt, KEY_BYTES, QUICK_COST);
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
  const { cost, salt, key } = parseHash(hash);
  const isQuick = cost.N === QUICK_COST.N;
  const derive = () => derivePassword(password, salt, isQuick ? { ...COST, N } : cost);
  const slow = await turns.run(networksOf(address), derive, signal);
  // Generated passwords have no capitals, but phones and people type some.
  const quick = deriveQuickly(password.normalize('NFC').toLowerCase(), salt);
  return timingSafeEqual(isQuick ? quick : slow, key) && hash !== null;
}

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
