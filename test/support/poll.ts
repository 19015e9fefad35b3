import { setTimeout as delay } from 'node:timers/promises';

const INTERVAL_MS = 20;
const LONGEST_MS = 60_000;

/** Polls until there is a value; fails after a timeout. Whoever asks a server for seconds asks less often. */
export async function pollUntil<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  intervalMs = INTERVAL_MS,
): Promise<T> {
  for (const untilMs = performance.now() + LONGEST_MS; performance.now() < untilMs; ) {
    const found = await look();
    if (found !== undefined) return found;
    await delay(intervalMs);
  }
  throw new Error(`Timed out waiting for: ${what}.`);
}
