import type { ErrorCode } from '@berth/protocol/errors';
import { LIMITS } from './limits.ts';
import { RequestError } from './problem.ts';
import type { Reply } from './reply.ts';

/** Does the work, unless whoever asks has guessed wrong too often. */
export type LimitGuesses = (who: string, work: () => Reply | Promise<Reply>) => Promise<Reply>;

/** Answers to wrong keys, users and codes. */
const WRONG: ReadonlySet<string> = new Set<ErrorCode>([
  'license_not_found',
  'unknown_product',
  'invalid_credentials',
  'invalid_api_key',
  'airgap_code_invalid',
  'server_key_not_approved',
]);

/**
 * Each place has a bucket of wrong guesses, which fills up evenly. It is kept as one number: when it will be
 * full again. While it is empty nothing is looked up, so that a right guess is not told from a wrong one.
 */
export function createGuessLimit(readMonotonicMs: () => number): LimitGuesses {
  const fullAtMs = new Map<string, number>();
  const admit = (who: string) => {
    const waitMs = (fullAtMs.get(who) ?? 0) - readMonotonicMs() - (LIMITS.guesses - 1) * LIMITS.guessEveryMs;
    if (waitMs > 0) throw tooMany(Math.ceil(waitMs / 1000));
  };
  const note = (who: string) => {
    const nowMs = readMonotonicMs();
    const before = Math.max(fullAtMs.get(who) ?? nowMs, nowMs);
    // Set anew, it stands last; the first one is then the one that was silent longest.
    fullAtMs.delete(who);
    fullAtMs.set(
      who,
      Math.min(before, nowMs + (LIMITS.guesses - 1) * LIMITS.guessEveryMs) + LIMITS.guessEveryMs,
    );
    if (fullAtMs.size > LIMITS.countedPlaces) fullAtMs.delete(fullAtMs.keys().next().value as string);
  };
  return async (who, work) => {
    admit(who);
    try {
      const reply = await work();
      if (WRONG.has(reply.code ?? '')) note(who);
      return reply;
    } catch (error) {
      if (error instanceof RequestError && WRONG.has(error.code)) note(who);
      throw error;
    }
  };
}

function tooMany(seconds: number): RequestError {
  return new RequestError(
    'too_many_requests',
    `Too many wrong keys or codes came from your address. Try again in ${seconds} s.`,
  );
}
