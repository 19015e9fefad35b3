import { RequestError } from './request-error.ts';

/** So many wrong passwords of one account from one address are slips of the finger. */
const FREE_FAILURES = 5;
/** The wait after the first that is none; it doubles with each that follows. */
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 5 * 60 * 1000;

/** So many from one address, for whatever accounts, are many people behind one door. */
const FREE_FAILURES_OF_ADDRESS = 100;
const ADDRESS_WAIT_MS = 1000;

/** Failures that are older than this are forgotten. */
const MEMORY_MS = 60 * 60 * 1000;

/** Whoever makes up names and addresses without end pushes out only the longest silent. */
const MAX_ENTRIES = 20_000;

interface Failures {
  count: number;
  lastMs: number;
  /** Guesses that are being looked at now. */
  open: number;
}

export interface SignInThrottle {
  /** Throws when it is too early for another guess. Otherwise `end` has to be called with how it ended. */
  begin(account: string, address: string): { end(isRight: boolean | 'unknown'): void };
}

export const NO_THROTTLE: SignInThrottle = { begin: () => ({ end: () => {} }) };

/**
 * Slows guessing down: per account and address together, so that nobody can lock somebody else out, and far
 * more leniently per address, so that nobody tries one password on every account. In memory: a restart
 * forgets it, and takes longer than it saves.
 */
export function createSignInThrottle(readMonotonicMs: () => number): SignInThrottle {
  const pairs = new Map<string, Failures>();
  const addresses = new Map<string, Failures>();

  return {
    begin(account, address) {
      const nowMs = readMonotonicMs();
      const pair = recall(pairs, JSON.stringify([account, address]), nowMs);
      const all = recall(addresses, address, nowMs);
      const waitMs = Math.max(waitOf(pair, nowMs, pairWait), waitOf(all, nowMs, addressWait));
      if (waitMs > 0) throw tooEarly(waitMs);
      pair.open += 1;
      all.open += 1;
      return {
        end(isRight) {
          pair.open -= 1;
          all.open -= 1;
          if (isRight === true) pair.count = 0;
          else if (isRight === false) for (const failures of [pair, all]) note(failures, readMonotonicMs());
        },
      };
    },
  };
}

function note(failures: Failures, nowMs: number): void {
  failures.count += 1;
  failures.lastMs = nowMs;
}

function pairWait(count: number): number {
  if (count < FREE_FAILURES) return 0;
  return Math.min(FIRST_WAIT_MS * 2 ** (count - FREE_FAILURES), LONGEST_WAIT_MS);
}

function addressWait(count: number): number {
  return count < FREE_FAILURES_OF_ADDRESS ? 0 : ADDRESS_WAIT_MS;
}

/** One guess at a time where there is a wait at all: a burst must not slip in before the first has failed. */
function waitOf({ count, lastMs, open }: Failures, nowMs: number, waitAfter: (count: number) => number) {
  const wait = waitAfter(count);
  if (wait === 0) return 0;
  return open > 0 ? wait : Math.max(0, lastMs + wait - nowMs);
}

/** What is remembered of somebody, and is the youngest memory from now on. */
function recall(memory: Map<string, Failures>, key: string, nowMs: number): Failures {
  const known = memory.get(key);
  const isFresh = known !== undefined && (known.open > 0 || nowMs - known.lastMs < MEMORY_MS);
  const failures = isFresh ? known : { count: 0, lastMs: nowMs, open: 0 };
  memory.delete(key);
  memory.set(key, failures);
  if (memory.size > MAX_ENTRIES) memory.delete(memory.keys().next().value as string);
  return failures;
}

function tooEarly(waitMs: number): RequestError {
  const retryAfterSeconds = Math.ceil(waitMs / 1000);
  return new RequestError(
    'too_many_requests',
    `Too many wrong passwords. Try again in ${retryAfterSeconds} s.`,
    { retryAfterSeconds },
    retryAfterSeconds,
  );
}
