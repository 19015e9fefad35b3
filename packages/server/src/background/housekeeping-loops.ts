import { MINUTE_MS } from '../core/nouns/instant.ts';
import type { History } from '../services/history/history.ts';
import type { Housekeeping } from '../services/lending/housekeeping.ts';
import type { Log } from '../telemetry/log.ts';
import { createLoop, type Loop } from './loop.ts';

/** A crash loses at most this much of the time since the last commit. */
const CLOCK_INTERVAL_MS = 1000;

/** Stores the time and detects clock jumps. Not optional: what has expired must stay expired. */
export function createClockKeeper(housekeeping: Housekeeping, log: Log): Loop {
  return createLoop({
    intervalMs: CLOCK_INTERVAL_MS,
    work: () => housekeeping.keepClock(),
    onError: (error) => log.debug({ error: String(error) }, 'the time could not be stored'),
  });
}

/** Removes expired entries. Only housekeeping: responses do not depend on it. */
export function createSweeper(housekeeping: Housekeeping, log: Log, intervalSeconds: number): Loop {
  return createLoop({
    intervalMs: intervalSeconds * 1000,
    async work() {
      const collected = await housekeeping.sweep();
      if (collected > 0) log.debug({ collected }, 'ended slots collected');
    },
    onError: (error) => log.warn({ error: String(error) }, 'sweeping failed; retrying'),
  });
}

/** Makes older parts of the history coarser. */
export function createHistoryThinner(history: History, log: Log): Loop {
  return createLoop({
    intervalMs: 10 * MINUTE_MS,
    async work() {
      const steps = await history.thin();
      if (steps > 0) log.debug({ steps }, 'the history was thinned out');
    },
    onError: (error) => log.warn({ error: String(error) }, 'the history could not be thinned out; retrying'),
  });
}
