import { bucketStart, DAY_MS, HOUR_MS, type Instant, plus } from '../nouns/instant.ts';
import { daysBefore, HOURS_KEPT_DAYS, MINUTES_KEPT_DAYS, monthStart, USER_DAYS_KEPT } from './grain.ts';

/**
 * One small part of the work. `minutes`: an hour of minutes becomes one bucket. `hours`: a day of hours does.
 * `days`: a day of users is added to its month. `old`: everything from before `to` is forgotten.
 */
export interface HistoryStep {
  readonly part: 'minutes' | 'hours' | 'days' | 'old';
  readonly from: Instant;
  /** Excluded. */
  readonly to: Instant;
}

/** What is older than this becomes coarser, or goes. */
export interface HistoryCutoffs {
  readonly minutes: Instant;
  readonly hours: Instant;
  readonly days: Instant;
  readonly old: Instant;
}

export function historyCutoffs(now: Instant, keepDays: number): HistoryCutoffs {
  return {
    minutes: daysBefore(now, MINUTES_KEPT_DAYS),
    hours: daysBefore(now, HOURS_KEPT_DAYS),
    days: daysBefore(now, USER_DAYS_KEPT),
    old: daysBefore(now, keepDays),
  };
}

/** The step that covers a bucket with this start. */
export function stepAt(part: HistoryStep['part'], at: Instant): HistoryStep {
  const lengthMs = part === 'minutes' ? HOUR_MS : DAY_MS;
  const from = bucketStart(at, lengthMs);
  return { part, from, to: plus(from, lengthMs) };
}

/** Where the rows of a step go. */
export function coarserStart({ part, from }: HistoryStep): Instant {
  return part === 'days' ? monthStart(from) : from;
}
