import { setTimeout as delay } from 'node:timers/promises';

const SHORTEST_REST_MS = 20;
/** Of the time that was waited so far: whoever waits for seconds asks less often. */
const REST_SHARE = 0.1;
const LONGEST_MS = 60_000;

/** Polls until there is a value; fails after a timeout. */
export async function pollUntil<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const beganMs = performance.now();
  for (let waitedMs = 0; waitedMs < LONGEST_MS; waitedMs = performance.now() - beganMs) {
    const found = await look();
    if (found !== undefined) return found;
    await delay(Math.max(SHORTEST_REST_MS, waitedMs * REST_SHARE));
  }
  throw new Error(`Timed out waiting for: ${what}.`);
}
