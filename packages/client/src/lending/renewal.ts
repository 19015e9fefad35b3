import { askAgainInMs } from '../back-off.ts';
import type { Environment } from '../environment.ts';
import { type BerthError, DeniedError, ProofError, SlotLostError, UnreachableError } from '../errors.ts';
import { Listeners, type Names } from '../listeners.ts';
import { within } from '../pause.ts';
import { ENDS_BY_WAITING, NOT_HELD } from '../refusals.ts';
import { releaseLimit } from '../release-limit.ts';
import type { SteadyClock } from '../steady-clock.ts';
import { type Lease, MARGIN, type Margin, renewAtMs, safeUntilMs } from './lease.ts';

/** What happens to a slot while it is kept. */
export interface SlotEvents {
  /** No server answers. The slot can be used until it is lost. */
  unreachable: { readonly error: UnreachableError; readonly heldForMs: number };
  /** A server answers again after `unreachable`, whatever its answer is. */
  reachable: { readonly heldForMs: number };
  /** The server refuses to renew the slot, or to lend it again after a loss. Emitted once for each reason. */
  denied: { readonly error: DeniedError | ProofError; readonly heldForMs: number };
  /** Stop using the slot now: the server may lend it to another user. */
  lost: { readonly reason: LossReason; readonly error: BerthError | null };
  /** The slot is held again after it was lost. */
  restored: { readonly heldForMs: number };
}

const SLOT_EVENTS: Names<SlotEvents> = {
  unreachable: true,
  reachable: true,
  denied: true,
  lost: true,
  restored: true,
};

/**
 * `ended`: it could not be renewed in time, or the machine slept. `taken`: the server says that the slot is
 * no longer this user's. `license`: of a feature, because the slot of the license was lost.
 */
export type LossReason = 'ended' | 'taken' | 'license';

interface RenewalOptions {
  readonly environment: Environment;
  readonly clock: SteadyClock;
  readonly margin?: Margin;
  readonly renewEveryMs: number;
  readonly register: Register;
}

/**
 * Registers, and returns what the server says about the slot. `inDoubt`: a request has failed, the slot was
 * lost or the machine has slept since the last answer, so the server may be another one. `signal`: ends the
 * wait for an answer.
 */
export type Register = (inDoubt: boolean, signal: AbortSignal) => Promise<Lease>;

/** How often the slot is looked at: on some systems timers do not notice that the machine slept. */
const LONGEST_TIMER_MS = 5000;
/** A timer that is later than this tells of sleep. Browsers delay those of hidden pages by up to a minute. */
const LATE_TIMER_MS = 65_000;
/** A server that was away is found again within this time. */
const LONGEST_PAUSE_MS = 15_000;
/** A refusal that does not concern the slot itself changes only when a person acts. */
const LONGEST_DENIED_PAUSE_MS = 60_000;

/** Keeps a slot: renews it in time, knows until when it may be used, and asks for it again after a loss. */
export class Renewal {
  readonly events: Listeners<SlotEvents>;
  readonly #options: RenewalOptions;
  readonly #ending = new AbortController();
  #lease: Lease;
  #state: 'held' | 'lost' | 'stopped' = 'held';
  #nextAtMs: number;
  #failures = 0;
  #isInDoubt = false;
  #wakesAtMs = 0;
  #sleptMs: number;
  #isUnreachable = false;
  #deniedCode: string | null = null;
  #lastError: BerthError | null = null;
  #underway: Promise<void> | null = null;
  #cancelTimer: () => void = () => {};

  constructor(options: RenewalOptions, lease: Lease) {
    this.#options = options;
    this.#lease = lease;
    this.#sleptMs = options.clock.sleptMs;
    this.#nextAtMs = this.#renewAtMs;
    this.events = new Listeners(SLOT_EVENTS, (error) => options.environment.reportError(error));
    this.#plan();
  }

  get lease(): Lease {
    return this.#lease;
  }

  /** How long the slot may be used from now on; 0 if it is not held. */
  get heldForMs(): number {
    if (this.#state !== 'held') return 0;
    const endMs = safeUntilMs(this.#lease, this.#options.margin ?? MARGIN);
    return Math.max(0, endMs - this.#options.clock.readMs());
  }

  get #renewAtMs(): number {
    const { environment, renewEveryMs } = this.#options;
    return renewAtMs(this.#lease, renewEveryMs, environment.random);
  }

  get isStopped(): boolean {
    return this.#state === 'stopped';
  }

  assertHeld(): void {
    if (this.heldForMs > 0) return;
    if (this.isStopped) throw new SlotLostError('slot_released');
    throw new SlotLostError('slot_lost', this.#lastError ?? undefined);
  }

  /** Takes over what an answer to another request said about the slot. */
  accept(lease: Lease): void {
    if (this.isStopped) return;
    const wasLost = this.#state === 'lost';
    this.#lease = lease;
    this.#state = 'held';
    if (this.heldForMs === 0) {
      this.#acceptTooLate(wasLost);
      return;
    }
    this.#failures = 0;
    this.#isInDoubt = false;
    this.#deniedCode = null;
    this.#lastError = null;
    this.#nextAtMs = this.#renewAtMs;
    this.#plan();
    this.#acceptContact();
    if (wasLost) this.events.emit('restored', { heldForMs: this.heldForMs });
  }

  /** Asks the server now, as after a loss. */
  renewNow(): void {
    this.#nextAtMs = this.#options.clock.readMs();
    this.#wake();
  }

  lose(reason: LossReason, error: BerthError | null): void {
    if (this.#state !== 'held') return;
    this.#state = 'lost';
    this.#isInDoubt = true;
    this.#lastError = error;
    this.events.emit('lost', { reason, error });
  }

  /**
   * Ends the renewals, and lets the caller return the slot; in two seconds at most, then with `false`. A
   * renewal that is under way could take the slot again, so its answer is waited for in the first of them.
   */
  end(giveBack: (withinMs: number) => Promise<boolean>): Promise<boolean> {
    const { environment, clock } = this.#options;
    const { longestMs } = releaseLimit;
    const deadlineMs = clock.readMs() + longestMs;
    this.stop();
    const work = async () => {
      await within(environment, longestMs / 2, Promise.resolve(this.#underway), null);
      // Otherwise the program could not end before the answer.
      this.#ending.abort();
      return giveBack(deadlineMs - clock.readMs());
    };
    return within(environment, longestMs, work(), false);
  }

  stop(): void {
    this.#state = 'stopped';
    this.#cancelTimer();
  }

  /** The answer took so long that the slot has ended again. */
  #acceptTooLate(wasLost: boolean): void {
    if (wasLost) this.#state = 'lost';
    else this.lose('ended', this.#lastError);
    this.#pause(LONGEST_PAUSE_MS);
  }

  #plan(): void {
    this.#cancelTimer();
    if (this.#state === 'stopped') return;
    const nowMs = this.#options.clock.readMs();
    const dueInMs = this.#underway === null ? this.#nextAtMs - nowMs : LONGEST_TIMER_MS;
    const endsInMs = this.#state === 'held' ? this.heldForMs : LONGEST_TIMER_MS;
    const delayMs = Math.max(0, Math.min(dueInMs, endsInMs, LONGEST_TIMER_MS));
    const { environment } = this.#options;
    this.#wakesAtMs = nowMs + delayMs;
    this.#cancelTimer = environment.setTimer(Math.ceil(delayMs), () => this.#wake(), 'background');
  }

  /** Looks at the end first: this may be much later than planned. */
  #wake(): void {
    if (this.#state === 'stopped') return;
    this.#noticeSleep();
    this.#loseIfEnded();
    if (this.#underway === null && this.#options.clock.readMs() >= this.#nextAtMs) {
      this.#underway = this.#attempt().finally(() => {
        this.#underway = null;
        this.#plan();
      });
    }
    this.#plan();
  }

  #noticeSleep(): void {
    const { clock } = this.#options;
    const isLate = clock.readMs() > this.#wakesAtMs + LATE_TIMER_MS;
    if (isLate || clock.sleptMs !== this.#sleptMs) this.#isInDoubt = true;
    this.#sleptMs = clock.sleptMs;
  }

  #loseIfEnded(): void {
    if (this.#state !== 'held' || this.heldForMs > 0) return;
    this.lose('ended', this.#lastError);
    if (!this.#isUnreachable) this.#nextAtMs = this.#options.clock.readMs();
  }

  async #attempt(): Promise<void> {
    try {
      const lease = await this.#options.register(this.#isInDoubt, this.#ending.signal);
      this.accept(lease);
    } catch (error) {
      if (this.isStopped) return;
      this.#loseIfEnded();
      if (error instanceof DeniedError || error instanceof ProofError) this.#acceptDenial(error);
      else if (error instanceof UnreachableError) this.#acceptSilence(error);
      else this.#acceptFault(error);
    }
  }

  #acceptDenial(error: DeniedError | ProofError): void {
    // The slot is gone. After any other refusal, it may be used to its end.
    const isTaken = ENDS_BY_WAITING.has(error.code) || NOT_HELD.has(error.code);
    this.#acceptContact();
    if (isTaken) this.lose('taken', error);
    this.#lastError = error;
    if (isTaken) this.#pause(LONGEST_PAUSE_MS, error);
    else this.#pause(LONGEST_DENIED_PAUSE_MS);
    if (this.#deniedCode === error.code) return;
    this.#deniedCode = error.code;
    this.events.emit('denied', { error, heldForMs: this.heldForMs });
  }

  #acceptContact(): void {
    if (!this.#isUnreachable) return;
    this.#isUnreachable = false;
    this.events.emit('reachable', { heldForMs: this.heldForMs });
  }

  #acceptSilence(error: UnreachableError): void {
    this.#lastError = error;
    this.#pause(LONGEST_PAUSE_MS);
    if (this.#isUnreachable) return;
    this.#isUnreachable = true;
    this.events.emit('unreachable', { error, heldForMs: this.heldForMs });
  }

  /** For example, the application cannot provide a token at the moment. */
  #acceptFault(error: unknown): void {
    this.#pause(LONGEST_PAUSE_MS);
    this.#options.environment.reportError(error);
  }

  /** `taken`: the refusal of a slot that others may wait for, too. */
  #pause(longestMs: number, taken: BerthError | null = null): void {
    const { clock, environment } = this.#options;
    const pauseMs = askAgainInMs(taken, this.#failures, longestMs, environment.random);
    this.#nextAtMs = clock.readMs() + pauseMs;
    this.#failures += 1;
    this.#isInDoubt = true;
  }
}
