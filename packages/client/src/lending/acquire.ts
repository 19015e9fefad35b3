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

/** A single waiting client finds a returned slot within this time; many share the work by chance. */
const LONGEST_WAIT_MS = 20_000;
/** Clients that wait for the same end do not ask at the same moment. */
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

/** Until a slot ends by itself, if that is soon; otherwise longer each time. */
function pauseOf(error: BerthError, failures: number, random: () => number): number {
  const pauseMs = backOffMs(failures, LONGEST_WAIT_MS, random);
  const freeInMs = error instanceof DeniedError ? error.nextFreeInMs : null;
  return freeInMs === null ? pauseMs : Math.min(pauseMs, freeInMs + random() * SPREAD_MS);
}
