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

/** A wall clock that a test can set for a process, while it runs too; its monotonic clock stays true. */
export interface FakedClock {
  /** What a process needs to see it. */
  readonly env: Readonly<Record<string, string>>;
  /** How far it is ahead of the true clock. */
  readonly shiftMs: number;
  set(shiftMs: number): void;
}

const LIBRARIES = ['/usr/lib/*/faketime/libfaketimeMT.so.1', '/usr/lib/faketime/libfaketimeMT.so.1'];

/** `null` where the library cannot be had. */
export async function makeFakedClock(t: { after(work: () => void): void }): Promise<FakedClock | null> {
  const library = process.platform === 'linux' ? await ensureFile(LIBRARIES, 'libfaketime') : undefined;
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
      // In one step: a process may read the file at any moment.
      const seconds = shiftMs / 1000;
      writeFileSync(`${file}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`);
      renameSync(`${file}.new`, file);
    },
  };
  clock.set(0);
  return clock;
}

/** Less than what the server follows at once. */
const STEP_MS = 4 * MINUTE_MS;

/** Lets the wall clock run ahead in steps so small that the server follows every one. */
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
