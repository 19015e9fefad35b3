import {
  bucketStart,
  DAY_MS,
  HOUR_MS,
  type Instant,
  instant,
  MINUTE_MS,
  plus,
  SECOND_MS,
} from '../nouns/instant.ts';

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

/** How long a slot was held, for the median. */
export function heldMinutes(heldMs: number): number {
  return roundLength(heldMs, MINUTE_MS);
}

/** How long a user waited in the line. */
export function waitedSeconds(waitedMs: number): number {
  return roundLength(waitedMs, SECOND_MS);
}

/**
 * In whole units, at least 1, and rounded to two digits from 100 on. So the number of different values per
 * day is bounded.
 */
function roundLength(ms: number, unitMs: number): number {
  const units = Math.max(1, Math.round(ms / unitMs));
  if (units < 100) return units;
  const step = 10 ** (Math.floor(Math.log10(units)) - 1);
  return Math.round(units / step) * step;
}

/** So many times this value. */
interface Counted {
  readonly value: number;
  readonly count: number;
}

/** The lower median of counted values; `null`: there are none. */
export function medianOf(counted: readonly Counted[]): number | null {
  return quantileOf(counted, 0.5);
}

/** The smallest value that this share of the values does not exceed; `null`: there are none. */
export function quantileOf(counted: readonly Counted[], share: number): number | null {
  const sorted = counted.toSorted((a, b) => a.value - b.value);
  const wanted = sorted.reduce((sum, { count }) => sum + count, 0) * share;
  let seen = 0;
  for (const { value, count } of sorted) {
    seen += count;
    if (seen >= wanted && seen > 0) return value;
  }
  return null;
}
