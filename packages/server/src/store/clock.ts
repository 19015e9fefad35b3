import { uptime } from 'node:os';
import { DOWNTIME_MS } from '../core/clock/clock.ts';
import { type Instant, instant, SECOND_MS } from '../core/nouns/instant.ts';

/** The two clocks of the machine. The only file that reads them; everything else is handed the time. */
export interface Clock {
  /** What the machine believes the date to be. It can be set, wrongly too. */
  readWall(): Instant;
  /** Milliseconds that never run back and that nobody can set; only differences mean anything. */
  readMonotonicMs(): number;
  /** A server that did not look for longer than this was paused. */
  readonly restMs: number;
}

interface Machine {
  readWallMs(): number;
  /** Stands still on some systems while the machine sleeps. */
  readRunningMs(): number;
  /** Counts sleep everywhere, but takes longer to read, and is whole seconds on some systems. */
  readUptimeMs(): number;
}

const LEAST_SLEEP_MS = 2 * SECOND_MS;

/**
 * Sleep moves the wall clock and the uptime, but a person who sets the date moves the wall clock alone. So
 * the uptime is read when the wall clock has moved.
 */
export function createClock({ readWallMs, readRunningMs, readUptimeMs }: Machine): Clock {
  const firstMs = readUptimeMs() - readRunningMs();
  let aheadMs = readWallMs() - readRunningMs();
  let sleptMs = 0;
  return {
    readWall: () => instant(readWallMs()),
    readMonotonicMs() {
      const runningMs = readRunningMs();
      const movedMs = readWallMs() - runningMs - aheadMs;
      if (Math.abs(movedMs) >= LEAST_SLEEP_MS) {
        aheadMs += movedMs;
        const foundMs = readUptimeMs() - runningMs - firstMs;
        if (foundMs - sleptMs >= LEAST_SLEEP_MS) sleptMs = foundMs;
      }
      return runningMs + sleptMs;
    },
    restMs: DOWNTIME_MS,
  };
}

export const systemClock: Clock = createClock({
  readWallMs: () => Date.now(),
  readRunningMs: () => performance.now(),
  readUptimeMs: () => uptime() * SECOND_MS,
});

/** A clock for tests and simulations: time passes when told to. */
export interface ManualClock extends Clock {
  /** Lets time pass on both clocks, for a server that runs and looks at them all the time. */
  advance(millis: number): void;
  /** Lets time pass on both clocks while the server is paused. */
  pause(millis: number): void;
  /** Sets the date, as a person would; no time passes. */
  setWall(at: Instant): void;
}

export function createManualClock(start: Instant): ManualClock {
  let wall: number = start;
  let monotonicMs = 0;
  let restMs = Number.POSITIVE_INFINITY;
  function pass(millis: number): void {
    wall += millis;
    monotonicMs += millis;
  }
  return {
    readWall: () => instant(wall),
    readMonotonicMs: () => monotonicMs,
    get restMs() {
      return restMs;
    },
    advance(millis) {
      pass(millis);
      restMs = Number.POSITIVE_INFINITY;
    },
    pause(millis) {
      pass(millis);
      restMs = DOWNTIME_MS;
    },
    setWall(at) {
      wall = at;
    },
  };
}
