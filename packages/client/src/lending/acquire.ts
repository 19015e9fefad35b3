import { askAgainInMs } from '../back-off.ts';
import { type Duration, parseDuration } from '../duration.ts';
import type { ExitGuard, WireRequest } from '../environment.ts';
import { BerthError, DeniedError } from '../errors.ts';
import { type OptionNames, refuseUnknown } from '../known-options.ts';
import { pause, within } from '../pause.ts';
import { releaseLimit } from '../release-limit.ts';
import { type Account, holderOf, returnSlot, targetOf } from './account.ts';
import { holdHere } from './held-here.ts';
import { type ProvenAnswer, SlotRequests } from './proven-lease.ts';
import { Slot } from './slot.ts';

export interface WaitOptions {
  /** How long to wait for a free slot, such as `5m`. By default, a refusal is thrown at once. */
  readonly wait?: Duration | undefined;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the reason before every pause, and whenever the wait in the server's line goes on. */
  readonly onWait?: ((waiting: Waiting) => void) | undefined;
}

/** @internal */
export const WAIT_OPTIONS: OptionNames<WaitOptions> = { wait: true, signal: true, onWait: true };

export interface Waiting {
  readonly error: BerthError;
  readonly retryInMs: number;
}

/** The longest pause if the server does not say how long to pause. */
const LONGEST_WAIT_MS = 20_000;

/** Servers and proxies may close a connection on which nothing comes for a minute. */
const LONGEST_IN_LINE_MS = 50_000;
const FIRST_IN_LINE_MS = 2000;

/** @internal */
export async function acquireAs(account: Account, options: WaitOptions): Promise<Slot> {
  refuseUnknown('acquire()', options, WAIT_OPTIONS);
  const requests = new SlotRequests(account);
  const place = holdHere(account.environment, account);
  const asking = new Asking(account, requests);
  const unguard = account.environment.guardExit(asking);
  try {
    const first = await registerPatiently(account, asking, options);
    const slot = new Slot(account, requests, first, place.letGo);
    place.holder = slot;
    return slot;
  } catch (error) {
    place.letGo();
    throw error;
  } finally {
    unguard();
  }
}

/** Asks for a slot. If the program ends meanwhile, a slot that the server may have lent is returned. */
class Asking implements ExitGuard {
  readonly #account: Account;
  readonly #requests: SlotRequests;
  /** The last request; `null` if the server has certainly lent nothing. */
  #asked: Promise<ProvenAnswer> | null = null;
  #isEnding = false;

  constructor(account: Account, requests: SlotRequests) {
    this.#account = account;
    this.#requests = requests;
  }

  /** Waits in the server's line, if it has one. Never comes back once the program ends. */
  async ask(waitSeconds: number, signal?: AbortSignal): Promise<ProvenAnswer> {
    if (this.#isEnding) return forever();
    const ended = signal === undefined ? {} : { signal };
    const patience =
      waitSeconds < 1
        ? {}
        : { headers: { prefer: `wait=${waitSeconds}` }, waitMs: waitSeconds * 1000, ...ended };
    try {
      const holder = holderOf(this.#account, this.#account.licenseId);
      this.#asked = this.#requests.send('register', holder, patience);
      return await this.#asked;
    } catch (error) {
      if (error instanceof DeniedError) this.#asked = null;
      throw error;
    } finally {
      if (this.#isEnding) await forever();
    }
  }

  async release(): Promise<void> {
    this.#isEnding = true;
    if (this.#asked === null) return;
    const answered = this.#asked.catch(() => {});
    const withinMs = releaseLimit.longestMs / 2;
    await within<unknown>(this.#account.environment, withinMs, answered, null);
    // It may have been denied meanwhile.
    if (this.#asked === null) return;
    await returnSlot(this.#account, this.#account.licenseId, { withinMs });
  }

  describeRelease(): WireRequest | null {
    const { servers, licenseId } = this.#account;
    return this.#asked === null ? null : servers.describe('unregister', targetOf(this.#account, licenseId));
  }
}

function forever(): Promise<never> {
  return new Promise(() => {});
}

async function registerPatiently(
  account: Account,
  asking: Asking,
  options: WaitOptions,
): Promise<ProvenAnswer> {
  const { clock, environment } = account;
  const deadlineMs = clock.readMs() + parseDuration('wait', options.wait ?? 0);
  for (let failures = 0; ; failures++) {
    options.signal?.throwIfAborted();
    const askedMs = clock.readMs();
    // Who wants to know hears soon that there is no free slot. The place in the line is kept.
    const longestMs = failures === 0 && options.onWait !== undefined ? FIRST_IN_LINE_MS : LONGEST_IN_LINE_MS;
    const waitMs = Math.min(deadlineMs - askedMs, longestMs);
    try {
      return await asking.ask(Math.floor(waitMs / 1000), options.signal);
    } catch (error) {
      const nowMs = clock.readMs();
      const leftMs = deadlineMs - nowMs;
      if (!isWorthWaiting(error) || leftMs <= 0) throw error;
      const hasWaited = nowMs - askedMs >= 1000 && error instanceof DeniedError && error.hasWaited;
      const againInMs = askAgainInMs(error, failures, LONGEST_WAIT_MS, environment.random);
      const retryInMs = hasWaited ? 0 : Math.min(leftMs, againInMs);
      options.onWait?.({ error, retryInMs });
      await pause(environment, retryInMs, options.signal);
    }
  }
}

function isWorthWaiting(error: unknown): error is BerthError {
  return error instanceof BerthError && error.isRetryable;
}
