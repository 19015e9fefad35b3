import { type Instant, instant } from '../core/nouns/instant.ts';

/** The two clocks of the machine. The only file that reads them; everything else is handed the time. */
export interface Clock {
  /** What the machine believes the date to be. It can be set, wrongly too. */
  readWall(): Instant;
  /** Milliseconds that never run back and that nobody can set; only differences mean anything. */
  readMonotonicMs(): number;
}

export const systemClock: Clock = {
  readWall: () => instant(Date.now()),
  readMonotonicMs: () => performance.now(),
};

/** A clock for tests and simulations: time passes when told to. */
export interface ManualClock extends Clock {
  /** Lets time pass on both clocks. */
  advance(millis: number): void;
  /** Sets the date, as a person would; no time passes. */
  setWall(at: Instant): void;
}

export function createManualClock(start: Instant): ManualClock {
  let wall: number = start;
  let monotonicMs = 0;
  return {
    readWall: () => instant(wall),
    readMonotonicMs: () => monotonicMs,
    advance(millis) {
      wall += millis;
      monotonicMs += millis;
    },
    setWall(at) {
      wall = at;
    },
  };
}
