import fs from 'node:fs';
import os from 'node:os';

/** Other threads come first. With the lowest priority, a backup of a busy server would never end. */
const LOW_PRIORITY = 10;

/** Lets the other threads of the server go first. */
export function stepBack(): void {
  try {
    // On Linux a thread has a priority of its own.
    const [, , thread] = fs.readlinkSync('/proc/thread-self').split('/');
    os.setPriority(Number(thread), LOW_PRIORITY);
  } catch {}
}
