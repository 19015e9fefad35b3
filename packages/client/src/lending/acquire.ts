import { backOffMs } from '../back-off.ts';
import { type Duration, parseDuration } from '../duration.ts';
import { type BerthError, DeniedError, UnreachableError } from '../errors.ts';
import { pause } from '../pause.ts';
import { type ProvenAnswer, SlotRequests } from '../proof/proven-lease.ts';
import { type Account, holderOf } from './account.ts';
import { holdHere } from './held-here.ts';
import { Slot } from './slot.ts';

export interface WaitOptions {
  /** How long to wait for a free slot, such as `5m`. By default, a refusal is thrown at once. */
  readonly wait?: Duration;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
  /** Called with the reason before every pause. */
  readonly onWait?: (waiting: Waiting) => void;
}

export interface Waiting {
  readonly error: BerthError;
  readonly retryInMs: number;
}

/** The longest pause if the server does not say how long to pause. */
const LONGEST_WAIT_MS = 20_000;
/** How long clients that wait for the same end ask one after the other, at least. */
const SPREAD_MS = 500;

export async function acquireAs(account: Account, options: WaitOptions): Promise<Slot> {
  const requests = new SlotRequests(account);
  const letGo = holdHere(account.environment, `"${account.user}" of "${account.product}"`);
  try {
    return new Slot(account, requests, await registerPatiently(account, requests, options), letGo);
  } catch (error) {
    letGo();
    throw error;
  }
}

async function registerPatiently(
  account: Account,
  requests: SlotRequests,
  options: WaitOptions,
): Promise<ProvenAnswer> {
  const { clock, environment } = account;
  const deadlineMs = clock.readMs() + parseDuration('wait', options.wait ?? 0);
  for (let failures = 0; ; failures++) {
    options.signal?.throwIfAborted();
    try {
      return await requests.send('register', holderOf(account, account.licenseId));
    } catch (error) {
      const leftMs = deadlineMs - clock.readMs();
      if (!isWorthWaiting(error) || leftMs <= 0) throw error;
      const retryInMs = Math.min(leftMs, pauseOf(error, failures, environment.random));
      options.onWait?.({ error, retryInMs });
      await pause(environment, retryInMs, options.signal);
    }
  }
}

function isWorthWaiting(error: unknown): error is BerthError {
  return (error instanceof DeniedError || error instanceof UnreachableError) && error.isRetryable;
}

/**
 * About as long as the server says, which knows how many wait; without its word, longer each time. If a slot
 * ends by itself before that, until then, and up to as long again, so that not all ask at the same moment.
 */
function pauseOf(error: BerthError, failures: number, random: () => number): number {
  const { retryAfterMs = null, nextFreeInMs = null } = error instanceof DeniedError ? error : {};
  const pauseMs =
    retryAfterMs === null ? backOffMs(failures, LONGEST_WAIT_MS, random) : retryAfterMs * (0.5 + random());
  const spreadMs = Math.max(SPREAD_MS, retryAfterMs ?? 0);
  return nextFreeInMs === null ? pauseMs : Math.min(pauseMs, nextFreeInMs + random() * spreadMs);
}
