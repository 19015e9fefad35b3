import { MINUTE_MS, SECOND_MS } from '../core/nouns/instant.ts';
import type { Backups } from '../services/backups/backups.ts';
import type { Log } from '../telemetry/log.ts';
import { createLoop, type Loop } from './loop.ts';

/** How late a backup may start. */
const SCHEDULE_INTERVAL_MS = 10 * SECOND_MS;

/** Makes backups by the schedule. */
export function createBackupSchedule(backups: Backups, log: Log): Loop {
  return createLoop({
    intervalMs: SCHEDULE_INTERVAL_MS,
    async work() {
      const file = await backups.keepSchedule();
      if (file !== null) log.info({ file }, 'a backup was made');
    },
    onError: (error) => log.error({ error: String(error) }, 'the scheduled backup failed; retrying'),
  });
}

/** A loop of its own: it must notice when the other one hangs. */
export function createBackupWatch(backups: Backups, log: Log): Loop {
  return createLoop({
    intervalMs: MINUTE_MS,
    work: () => backups.watchSchedule(),
    onError: (error) => log.debug({ error: String(error) }, 'the age of the last backup could not be read'),
  });
}
