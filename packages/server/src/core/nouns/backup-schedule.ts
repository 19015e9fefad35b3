import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, plus } from './instant.ts';

/** When backups are made. */
export interface BackupSchedule {
  readonly periodMs: number;
  /** The time of day, in UTC, of a daily backup; `null`: a period after the last one. */
  readonly atMs: number | null;
}

export const SCHEDULE_FORM = 'a time of day in UTC, such as 03:30, or a period from 5m to 744h, such as 6h';

const DAILY = /^([01]\d|2[0-3]):([0-5]\d)$/;
const PERIODIC = /^([1-9]\d{0,3})([hm])$/;
const SHORTEST_MS = 5 * MINUTE_MS;
const LONGEST_MS = 31 * DAY_MS;

/** Returns null if the text is not a schedule. */
export function parseSchedule(text: string): BackupSchedule | null {
  const [, hour, minute] = DAILY.exec(text) ?? [];
  if (hour !== undefined) {
    return { periodMs: DAY_MS, atMs: Number(hour) * HOUR_MS + Number(minute) * MINUTE_MS };
  }
  const [, count, unit] = PERIODIC.exec(text) ?? [];
  const periodMs = Number(count) * (unit === 'h' ? HOUR_MS : MINUTE_MS);
  return periodMs >= SHORTEST_MS && periodMs <= LONGEST_MS ? { periodMs, atMs: null } : null;
}

/** When the next backup is due. */
export function dueAt({ periodMs, atMs }: BackupSchedule, lastAt: Instant): Instant {
  if (atMs === null) return plus(lastAt, periodMs);
  const sinceMs = (lastAt - atMs) % periodMs;
  return plus(lastAt, periodMs - (sinceMs < 0 ? sinceMs + periodMs : sinceMs));
}

/** Whether a whole period went by after it was due. */
export function isOverdue({ periodMs }: BackupSchedule, due: Instant, now: Instant): boolean {
  return now >= plus(due, periodMs);
}
