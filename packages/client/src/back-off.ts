import { type BerthError, DeniedError } from './errors.ts';

const FIRST_MS = 500;
const DOUBLINGS = 10;
/** Clients that wait for the end of one slot spread their requests over at least this time. */
const SPREAD_MS = 500;

/** How long to wait after failures: longer each time, with jitter. */
export function backOffMs(failures: number, longestMs: number, random: () => number): number {
  const fullMs = Math.min(longestMs, FIRST_MS * 2 ** Math.min(failures, DOUBLINGS));
  return fullMs * (0.5 + random() / 2);
}

/**
 * How long to wait before asking for a slot again: about as long as the server says, which knows how many
 * clients wait; otherwise longer each time. If a slot ends earlier, the client asks shortly after that, at a
 * random moment, so that not all clients ask at once.
 */
export function askAgainInMs(
  error: BerthError | null,
  failures: number,
  longestMs: number,
  random: () => number,
): number {
  const { retryAfterMs = null, nextFreeInMs = null } = error instanceof DeniedError ? error : {};
  const pauseMs =
    retryAfterMs === null ? backOffMs(failures, longestMs, random) : retryAfterMs * (0.5 + random());
  const spreadMs = Math.max(SPREAD_MS, retryAfterMs ?? 0);
  return nextFreeInMs === null ? pauseMs : Math.min(pauseMs, nextFreeInMs + random() * spreadMs);
}
