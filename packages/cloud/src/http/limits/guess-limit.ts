import type { ErrorCode } from '@berth/protocol/errors';
import { RequestError } from '@berth/protocol/request-error';
import type { Reply } from '../reply.ts';
import { LIMITS } from './limits.ts';

/** Does the work unless the client has guessed wrong too often. */
type LimitGuesses = (who: string, work: () => Reply | Promise<Reply>) => Promise<Reply>;

/** Error codes for wrong keys, users and codes. */
const WRONG: ReadonlySet<string> = new Set<ErrorCode>([
  'license_not_found',
  'unknown_product',
  'invalid_credentials',
  'invalid_api_key',
  'airgap_code_invalid',
  'server_key_not_approved',
]);

/** The running requests of a client network, and those waiting for them. */
interface Queue {
  running: number;
  readonly waiting: (() => void)[];
}

/**
 * Each client network has a token bucket for wrong guesses. It is stored as one number: the time when it is
 * full again. While it is empty nothing is looked up, so that correct and wrong guesses get the same
 * response. A running request may turn out wrong, so no more run at once than the bucket allows; the rest
 * wait.
 */
export function createGuessLimit(readMonotonicMs: () => number): LimitGuesses {
  const fullAtMs = new Map<string, number>();
  const queues = new Map<string, Queue>();
  const countMissing = (who: string) =>
    Math.max((fullAtMs.get(who) ?? 0) - readMonotonicMs(), 0) / LIMITS.guessEveryMs;
  const countFree = (who: string) => LIMITS.guesses - Math.ceil(countMissing(who));
  const note = (who: string) => {
    const nowMs = readMonotonicMs();
    const before = Math.max(fullAtMs.get(who) ?? nowMs, nowMs);
    // Reinserting moves the entry to the end, so the first entry is the least recent one.
    fullAtMs.delete(who);
    fullAtMs.set(who, before + LIMITS.guessEveryMs);
    if (fullAtMs.size > LIMITS.countedAddresses) fullAtMs.delete(fullAtMs.keys().next().value as string);
  };
  const leave = (who: string, queue: Queue) => {
    const next = queue.waiting.shift();
    if (next !== undefined) next();
    else if (queue.running === 0) queues.delete(who);
  };
  const enter = async (who: string): Promise<Queue> => {
    const queue = queues.get(who) ?? { running: 0, waiting: [] };
    queues.set(who, queue);
    while (queue.running >= countFree(who)) {
      if (countFree(who) <= 0) {
        leave(who, queue);
        const waitMs = (countMissing(who) - LIMITS.guesses + 1) * LIMITS.guessEveryMs;
        throw tooMany('Too many wrong keys or codes from your address.', Math.ceil(waitMs / 1000));
      }
      if (queue.waiting.length >= LIMITS.guessesWaiting)
        throw tooMany('Too many concurrent requests from your address.', 1);
      await new Promise<void>((resolve) => queue.waiting.push(resolve));
    }
    queue.running += 1;
    return queue;
  };
  return async (who, work) => {
    const queue = await enter(who);
    let isWrong = false;
    try {
      const reply = await work();
      isWrong = reply.isGuess === true || WRONG.has(reply.code ?? '');
      return reply;
    } catch (error) {
      isWrong = error instanceof RequestError && WRONG.has(error.code);
      throw error;
    } finally {
      if (isWrong) note(who);
      queue.running -= 1;
      leave(who, queue);
    }
  };
}

function tooMany(why: string, seconds: number): RequestError {
  return new RequestError('too_many_requests', `${why} Try again in ${seconds} s.`);
}
