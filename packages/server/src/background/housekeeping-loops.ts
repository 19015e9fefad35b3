import { Fault } from '../core/nouns/fault.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/nouns/instant.ts';
import type { AuditTrail } from '../services/audit/audit-trail.ts';
import type { Backups } from '../services/backups/backups.ts';
import type { Certificates } from '../services/certificates/certificates.ts';
import type { History } from '../services/history/history.ts';
import type { Housekeeping } from '../services/lending/housekeeping.ts';
import type { LiveSettings } from '../services/settings/live-settings.ts';
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

/** Takes over settings that another server on the same database has changed. */
export function createSettingsLoop(settings: LiveSettings, log: Log): Loop {
  return createLoop({
    intervalMs: SECOND_MS,
    work: () => settings.refresh(),
    onError: (error) => log.debug({ error: String(error) }, 'the settings could not be read'),
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

/** Signs the heads of all chains of the audit log every hour. */
export function createHeadSigner(audit: AuditTrail, log: Log): Loop {
  return createLoop({
    intervalMs: HOUR_MS,
    work: () => audit.signHeads(),
    // The store reports a failing disk, once.
    onError: (error) => {
      if (!(error instanceof Fault)) log.error({ error: String(error) }, 'the audit log could not be signed');
    },
  });
}

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

/** Checks whether the TLS files have changed. File system events would miss swapped links. */
export function createCertificateWatch(certificates: Certificates, log: Log): Loop {
  return createLoop({
    intervalMs: SECOND_MS,
    async work() {
      await certificates.refresh();
      certificates.warnBeforeEnd();
    },
    onError: (error) => log.error({ error: String(error) }, 'the TLS files could not be checked'),
  });
}
