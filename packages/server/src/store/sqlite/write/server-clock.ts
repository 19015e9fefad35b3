import {
  type ClockJump,
  type ClockReading,
  type ClockState,
  clockAtStart,
  readClock,
} from '../../../core/clock/clock.ts';
import { type Instant, plus } from '../../../core/nouns/instant.ts';
import type { Clock } from '../../clock.ts';

/** Holds the server's time between two readings. The rules are in `core/clock/clock.ts`. */
export class ServerClock {
  readonly #clock: Clock;
  #state: ClockState;
  #monotonicAtMark: number;
  /** How far a test clock is ahead of the wall clock. */
  #aheadMs: number;

  constructor(clock: Clock, storedMark: Instant | null, aheadMs: number | null) {
    this.#clock = clock;
    this.#aheadMs = aheadMs ?? 0;
    this.#state = { mark: clockAtStart(storedMark, this.readWall()), jump: null };
    this.#monotonicAtMark = clock.readMonotonicMs();
  }

  get mark(): Instant {
    return this.#state.mark;
  }

  get jump(): ClockJump | null {
    return this.#state.jump;
  }

  readWall(): Instant {
    return plus(this.#clock.readWall(), this.#aheadMs);
  }

  /** Reads the time without moving the mark. */
  peek(): ClockReading {
    return readClock(this.#state, this.#elapsedMs(), this.readWall(), this.#clock.restMs);
  }

  /** Reads the time and moves the mark: from here on it is never earlier. */
  read(): ClockReading {
    const elapsedMs = this.#elapsedMs();
    const reading = readClock(this.#state, elapsedMs, this.readWall(), this.#clock.restMs);
    this.#monotonicAtMark += elapsedMs;
    this.#state = { mark: reading.now, jump: reading.jump };
    return reading;
  }

  /** Continues from another instant, later or (only for an administrator's reset) earlier. */
  moveTo(now: Instant, aheadMs: number | null = this.#aheadMs): void {
    this.#aheadMs = aheadMs ?? 0;
    this.#monotonicAtMark = this.#clock.readMonotonicMs();
    this.#state = { mark: now, jump: null };
  }

  /** Forgets a jump that could not be recorded, so that the next reading finds it again. */
  forgetJump(): void {
    this.#state = { ...this.#state, jump: null };
  }

  /** Whole milliseconds; the fraction is kept for the next reading. */
  #elapsedMs(): number {
    return Math.max(0, Math.floor(this.#clock.readMonotonicMs() - this.#monotonicAtMark));
  }
}
