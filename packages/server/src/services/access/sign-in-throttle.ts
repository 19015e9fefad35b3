import { placeOf } from '@berth/protocol/address-range';
import { RequestError } from '@berth/protocol/request-error';
import { backOffMs } from '../../core/back-off.ts';

/** This many wrong passwords for one account from one address are free. */
const FREE_FAILURES = 5;
/** The wait after the next one; it doubles with each further one. */
const WAIT = { firstMs: 1000, longestMs: 5 * 60 * 1000 };

/** Free wrong passwords per place, for all accounts: many people may share an address. */
const FREE_FAILURES_OF_PLACE = 100;
const PLACE_WAIT_MS = 1000;

/** How many guesses from one place are checked at once, because each takes a while. */
const MAX_AT_ONCE = 8;

/** Older failures are forgotten. */
const MEMORY_MS = 60 * 60 * 1000;

/** How many names and addresses are remembered; the one idle longest is forgotten. */
const MAX_ENTRIES = 20_000;

interface Failures {
  count: number;
  lastMs: number;
  /** Guesses being checked now. */
  open: number;
  /** Guesses that a directory is checking now. */
  asked: number;
}

export interface SignInThrottle {
  /**
   * Throws if it is too early for another guess. Otherwise the caller must call `end` with the result.
   * `person`: whom a directory may find by that name; `null`: there is no directory.
   */
  begin(account: string, address: string, person?: string | null): Attempt;
}

interface Attempt {
  /**
   * The directory is asked, which may take long: that must not keep accounts from signing in from the same
   * place. Throws if it is being asked too much.
   */
  askDirectory(): void;
  end(isRight: boolean | 'unknown'): void;
}

/**
 * Slows down guessing: per account and place together, so that nobody can lock out others, and far more
 * leniently per place, so that nobody can try one password on every account or use up all checks. Kept in
 * memory: a restart forgets it, but takes longer than it saves an attacker. Each of several servers counts
 * separately, which multiplies the guesses, but they remain far too few.
 */
export function createSignInThrottle(readMonotonicMs: () => number): SignInThrottle {
  const pairs = new Map<string, Failures>();
  const people = new Map<string, Failures>();
  const places = new Map<string, Failures>();

  return {
    begin(account, address, person = null) {
      const nowMs = readMonotonicMs();
      const place = placeOf(address);
      const keys = [
        [pairs, JSON.stringify([account, place])] as const,
        ...(person === null ? [] : [[people, JSON.stringify([person, place])] as const]),
      ];
      // A rejected guess is not remembered, so it cannot displace other entries.
      const waitMs = Math.max(
        waitOfPlace(look(places, place, nowMs), nowMs),
        ...keys.map(([memory, key]) => waitOfPair(look(memory, key, nowMs), nowMs)),
      );
      if (waitMs > 0) throw tooEarly(waitMs);
      const names = keys.map(([memory, key]) => keep(memory, key, nowMs));
      return count(names, keep(places, place, nowMs), readMonotonicMs);
    },
  };
}

function count(names: readonly Failures[], place: Failures, readMonotonicMs: () => number): Attempt {
  let isAsked = false;
  for (const failures of [...names, place]) failures.open += 1;
  return {
    askDirectory() {
      const most = place.count < FREE_FAILURES_OF_PLACE ? MAX_AT_ONCE : 1;
      if (place.asked >= most) throw tooEarly(PLACE_WAIT_MS);
      isAsked = true;
      place.open -= 1;
      place.asked += 1;
    },
    end(isRight) {
      for (const failures of names) failures.open -= 1;
      place[isAsked ? 'asked' : 'open'] -= 1;
      if (isRight === true) for (const failures of names) failures.count = 0;
      else if (isRight === false) for (const failures of [...names, place]) note(failures, readMonotonicMs());
    },
  };
}

function note(failures: Failures, nowMs: number): void {
  failures.count += 1;
  failures.lastMs = nowMs;
}

/** Once there is a wait, one guess at a time: a burst must not pass before the first guess has failed. */
function waitOfPair({ count, lastMs, open }: Failures, nowMs: number): number {
  if (count < FREE_FAILURES) return 0;
  const wait = backOffMs(count - FREE_FAILURES + 1, WAIT, 1);
  return open > 0 ? wait : Math.max(0, lastMs + wait - nowMs);
}

function waitOfPlace({ count, lastMs, open }: Failures, nowMs: number): number {
  if (open >= MAX_AT_ONCE) return PLACE_WAIT_MS;
  if (count < FREE_FAILURES_OF_PLACE) return 0;
  return open > 0 ? PLACE_WAIT_MS : Math.max(0, lastMs + PLACE_WAIT_MS - nowMs);
}

/** The remembered failures, or none. */
function look(memory: Map<string, Failures>, key: string, nowMs: number): Failures {
  const known = memory.get(key);
  const isFresh =
    known !== undefined && (known.open > 0 || known.asked > 0 || nowMs - known.lastMs < MEMORY_MS);
  return isFresh ? known : { count: 0, lastMs: nowMs, open: 0, asked: 0 };
}

/** The same, and marks the entry as used most recently. */
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
    `Too many wrong passwords or codes. Try again in ${retryAfterSeconds} s.`,
    { retryAfterSeconds },
    retryAfterSeconds,
  );
}
