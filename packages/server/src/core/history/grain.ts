import { bucketStart, DAY_MS, HOUR_MS, type Instant, instant, MINUTE_MS, plus } from '../nouns/instant.ts';

/** How long a bucket of the history is. */
export const GRAINS = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS } as const;

/** Users are counted by days, and later by months; months differ, so this only names them. */
export const MONTH_GRAIN = 31 * DAY_MS;

/** For how many days the finer buckets are kept. */
export const MINUTES_KEPT_DAYS = 7;
export const HOURS_KEPT_DAYS = 92;
export const USER_DAYS_KEPT = 31;

/** The first instant of the UTC month. */
export function monthStart(at: Instant): Instant {
  const date = new Date(at);
  return instant(Date.UTC(date.getUTCFullYear(), date.getUTCMonth()));
}

/** The first day that is kept whole, `days` days before today. */
export function daysBefore(now: Instant, days: number): Instant {
  return plus(bucketStart(now, DAY_MS), -days * DAY_MS);
}

/**
 * How long a slot was held, for the median: in whole minutes, at least 1, and rounded to two digits from 100
 * on. So the number of different values per day is bounded.
 */
export function heldMinutes(heldMs: number): number {
  const minutes = Math.max(1, Math.round(heldMs / MINUTE_MS));
  if (minutes < 100) return minutes;
  const unit = 10 ** (Math.floor(Math.log10(minutes)) - 1);
  return Math.round(minutes / unit) * unit;
}

/** The lower median of counted values; `null`: there are none. */
export function medianOf(
  counted: readonly { readonly value: number; readonly count: number }[],
): number | null {
  const sorted = counted.toSorted((a, b) => a.value - b.value);
  const half = sorted.reduce((sum, { count }) => sum + count, 0) / 2;
  let seen = 0;
  for (const { value, count } of sorted) {
    seen += count;
    if (seen >= half && seen > 0) return value;
  }
  return null;
}
