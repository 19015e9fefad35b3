import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureFile } from './install-tools.ts';
import { pollUntil } from './poll.ts';
import { temporaryFolder } from './server-process.ts';
import type { ServerUnderTest } from './server-under-test.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
export const YEAR_MS = 365 * DAY_MS;

/** A wall clock that a test can set for a process, even while it runs. The monotonic clock stays real. */
export interface FakedClock {
  /** The environment of a process that uses this clock. */
  readonly env: Readonly<Record<string, string>>;
  /** How far it is ahead of the real clock. */
  readonly shiftMs: number;
  set(shiftMs: number): void;
}

export async function findLibrary(): Promise<string | undefined> {
  return process.platform === 'linux' ? await ensureFile('libfaketime') : undefined;
}

/** `null` if the library is not available. */
export async function makeFakedClock(t: { after(work: () => void): void }): Promise<FakedClock | null> {
  const library = await findLibrary();
  if (library === undefined) return null;
  const file = join(temporaryFolder(t), 'shift');
  const clock = {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    },
    shiftMs: 0,
    set(shiftMs: number) {
      clock.shiftMs = shiftMs;
      // Replaced atomically, because a process may read the file at any time.
      const seconds = shiftMs / 1000;
      writeFileSync(`${file}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`);
      renameSync(`${file}.new`, file);
    },
  };
  clock.set(0);
  return clock;
}

/** Small enough that the server follows immediately, and does not think that it was paused. */
const STEP_MS = 20_000;

/** Advances the wall clock in steps that are small enough for the server to follow. */
export async function passTime(server: ServerUnderTest, clock: FakedClock, millis: number): Promise<void> {
  for (let leftMs = millis; leftMs > 0; leftMs -= STEP_MS) {
    clock.set(clock.shiftMs + Math.min(leftMs, STEP_MS));
    const wall = Date.now() + clock.shiftMs;
    await pollUntil('the server follows a small step', async () => {
      const { server_at } = await server.api.clock();
      return Date.parse(server_at) >= wall ? true : undefined;
    });
  }
}
