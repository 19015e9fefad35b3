import { setTimeout as delay } from 'node:timers/promises';

const INTERVAL_MS = 20;
const LONGEST_MS = 60_000;

/** Asks again and again until something is there, and fails when it never comes. */
export async function pollUntil<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  for (let waitedMs = 0; waitedMs < LONGEST_MS; waitedMs += INTERVAL_MS) {
    const found = await look();
    if (found !== undefined) return found;
    await delay(INTERVAL_MS);
  }
  throw new Error(`It did not come to this: ${what}.`);
}
