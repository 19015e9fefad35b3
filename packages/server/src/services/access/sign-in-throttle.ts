import { placeOf } from '@berth/protocol/address-range';
import { backOffMs } from '../../core/back-off.ts';
import { RequestError } from '../request-error.ts';

/** So many wrong passwords of one account from one address are slips of the finger. */
const FREE_FAILURES = 5;
/** The wait after the first that is none; it doubles with each that follows. */
const WAIT = { firstMs: 1000, longestMs: 5 * 60 * 1000 };

/** So many from one place, for whatever accounts, are many people behind one door. */
const FREE_FAILURES_OF_PLACE = 100;
const PLACE_WAIT_MS = 1000;

/** So many guesses from one place are looked at together: each takes a while, and others want in, too. */
const MOST_AT_ONCE = 8;

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
 * Slows guessing down: per account and place together, so that nobody can lock somebody else out, and far
 * more leniently per place, so that nobody tries one password on every account, or takes all turns. In
 * memory: a restart forgets it, and takes longer than it saves. Each of several servers counts for itself, so
 * that whoever goes round all of them has so many times the guesses, which are still far too few.
 */
export function createSignInThrottle(readMonotonicMs: () => number): SignInThrottle {
  const pairs = new Map<string, Failures>();
  const places = new Map<string, Failures>();

  return {
    begin(account, address) {
      const nowMs = readMonotonicMs();
      const place = placeOf(address);
      const pairKey = JSON.stringify([account, place]);
      // Whoever is sent away leaves nothing behind, and pushes nobody's memory out.
      const waitMs = Math.max(
        waitOfPlace(look(places, place, nowMs), nowMs),
        waitOfPair(look(pairs, pairKey, nowMs), nowMs),
      );
      if (waitMs > 0) throw tooEarly(waitMs);
      const counted = [keep(pairs, pairKey, nowMs), keep(places, place, nowMs)] as const;
      for (const failures of counted) failures.open += 1;
      return {
        end(isRight) {
          for (const failures of counted) failures.open -= 1;
          if (isRight === true) counted[0].count = 0;
          else if (isRight === false) for (const failures of counted) note(failures, readMonotonicMs());
        },
      };
    },
  };
}

function note(failures: Failures, nowMs: number): void {
  failures.count += 1;
  failures.lastMs = nowMs;
}

/** One guess at a time where there is a wait at all: a burst must not slip in before the first has failed. */
function waitOfPair({ count, lastMs, open }: Failures, nowMs: number): number {
  if (count < FREE_FAILURES) return 0;
  const wait = backOffMs(count - FREE_FAILURES + 1, WAIT, 1);
  return open > 0 ? wait : Math.max(0, lastMs + wait - nowMs);
}

function waitOfPlace({ count, lastMs, open }: Failures, nowMs: number): number {
  if (open >= MOST_AT_ONCE) return PLACE_WAIT_MS;
  if (count < FREE_FAILURES_OF_PLACE) return 0;
  return open > 0 ? PLACE_WAIT_MS : Math.max(0, lastMs + PLACE_WAIT_MS - nowMs);
}

/** What is remembered of somebody, or nothing. */
function look(memory: Map<string, Failures>, key: string, nowMs: number): Failures {
  const known = memory.get(key);
  const isFresh = known !== undefined && (known.open > 0 || nowMs - known.lastMs < MEMORY_MS);
  return isFresh ? known : { count: 0, lastMs: nowMs, open: 0 };
}

/** The same, and it is the youngest memory from now on. */
function keep(memory: Map<string, Failures>, key: string, nowMs: number): Failures {
  const failures = look(memory, key, nowMs);
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
