import type { Housekeeping } from '../services/upkeep/housekeeping.ts';
import type { Log } from '../telemetry/log.ts';
import { createLoop, type Loop } from './loop.ts';

/** A crash forgets at most this much of the time that has passed without a commit. */
export const CLOCK_INTERVAL_MS = 1000;

/**
 * Remembers the time, and notices when the wall clock jumps. Not optional: what has ended must stay ended.
 */
export function createClockKeeper(housekeeping: Housekeeping, log: Log): Loop {
  return createLoop({
    intervalMs: CLOCK_INTERVAL_MS,
    work: () => housekeeping.keepClock(),
    onError: (error) => log.debug({ error: String(error) }, 'the clock could not be kept'),
  });
}

/** Tidies away what has ended. Only housekeeping: with it switched off every answer is the same. */
export function createSweeper(housekeeping: Housekeeping, log: Log, intervalSeconds: number): Loop {
  return createLoop({
    intervalMs: intervalSeconds * 1000,
    async work() {
      const collected = await housekeeping.sweep();
      if (collected > 0) log.debug({ collected }, 'ended slots collected');
    },
    onError: (error) => log.warn({ error: String(error) }, 'sweeping failed; it will be tried again'),
  });
}
