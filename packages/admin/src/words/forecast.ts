import {
  type ConsumptionPeriod,
  windowEndMillis,
  windowStartMillis,
} from '@berth/protocol/api/consumption-window';
import { DAY_MS } from './time.ts';

export const PERIOD_WORDS = {
  daily: 'today',
  weekly: 'this week',
  monthly: 'this month',
  annually: 'this year',
} as const;

/** What is counted of a license or a feature. */
export interface Counted {
  readonly total: number;
  readonly max: number;
  readonly period: ConsumptionPeriod | null;
  /** How much beyond the maximum is allowed; `Infinity`: any amount. */
  readonly overage: number;
}

export interface Forecast {
  /** The period that contains now. */
  readonly startAt: number;
  readonly endAt: number | null;
  /** Expected at the end of the period; `null`: too early to say, or it never ends. */
  readonly expected: number | null;
  /** When the maximum is reached; `null`: not in this period. */
  readonly fullAt: number | null;
  /** How much is consumed in a day, on average. */
  readonly perDay: number;
}

/** A forecast from less than this share of a period would jump about. */
const MIN_SHARE = 0.05;

/** Goes on at the pace so far, the same on every screen. */
export function forecast(counted: Counted, now: number): Forecast {
  const startAt = windowStartMillis(counted.period, now);
  const endAt = windowEndMillis(counted.period, now);
  if (endAt === null || counted.total <= 0)
    return { startAt, endAt, expected: null, fullAt: null, perDay: 0 };
  const perDay = counted.total / Math.max((now - startAt) / DAY_MS, 1 / 24);
  const isEarly = now - startAt < MIN_SHARE * (endAt - startAt);
  if (isEarly) return { startAt, endAt, expected: null, fullAt: null, perDay };
  const expected = counted.total + (perDay * (endAt - now)) / DAY_MS;
  const left = counted.max - counted.total;
  const reachedAt = left <= 0 ? now : now + (left / perDay) * DAY_MS;
  return { startAt, endAt, expected, fullAt: reachedAt < endAt ? reachedAt : null, perDay };
}

/** How far the total at the end of the period may be off, from how much the days so far differ. */
export function spreadOf(days: readonly number[], daysLeft: number): number {
  if (days.length < 3) return 0;
  const mean = days.reduce((sum, amount) => sum + amount, 0) / days.length;
  const variance = days.reduce((sum, amount) => sum + (amount - mean) ** 2, 0) / (days.length - 1);
  return Math.sqrt(variance * Math.max(0, daysLeft));
}
