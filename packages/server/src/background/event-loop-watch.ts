import type { Metrics } from '../services/metrics/metrics.ts';
import type { Log } from '../telemetry/log.ts';
import { createLoop, type Loop } from './loop.ts';

const INTERVAL_MS = 100;

/** Measures how late a timer fires: while the server computes, no request is answered. */
export function createEventLoopWatch(
  metrics: Pick<Metrics, 'noteLoopDelay'>,
  readMonotonicMs: () => number,
  log: Log,
): Loop {
  let dueMs: number | null = null;
  return createLoop({
    // Called when the timer is set.
    intervalMs() {
      dueMs = readMonotonicMs() + INTERVAL_MS;
      return INTERVAL_MS;
    },
    async work() {
      if (dueMs !== null) metrics.noteLoopDelay(Math.max(0, readMonotonicMs() - dueMs));
    },
    onError: (error) => log.warn({ error: String(error) }, 'measuring the event loop failed'),
  });
}
