import {
  type ConsumptionPeriod,
  windowEndMillis,
  windowStartMillis,
} from '@berth/protocol/api/consumption-window';
import { DAY_MS } from './time.ts';

/** What is counted of a license or a feature. */
export interface Counted {
  readonly total: number;
  readonly max: number;
  readonly period: ConsumptionPeriod | null;
  /** How much beyond the maximum is allowed; `Infinity`: any amount. */
  readonly overage: number;
}

export interface Forecast {
  /** The period that contains now; from the first count if it never ends. */
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
const LEAST_SHARE = 0.05;

/**
 * Goes on at the pace so far. `days`: the amounts of recent days, if the server records them; their mean is
 * used if they reach back further than the period.
 */
export function forecast(counted: Counted, now: number, days: readonly number[] = []): Forecast {
  const startAt = windowStartMillis(counted.period, now);
  const endAt = windowEndMillis(counted.period, now);
  const elapsed = (now - startAt) / DAY_MS;
  const isRecorded = days.length >= 7;
  const perDay = isRecorded
    ? mean(days)
    : counted.period === null
      ? 0
      : counted.total / Math.max(elapsed, 1 / 24);
  const isEarly = !isRecorded && endAt !== null && now - startAt < LEAST_SHARE * (endAt - startAt);
  if (perDay <= 0 || isEarly)
    return { startAt, endAt, expected: null, fullAt: null, perDay: Math.max(0, perDay) };
  const expected = endAt === null ? null : counted.total + (perDay * (endAt - now)) / DAY_MS;
  const left = counted.max - counted.total;
  const reachedAt = left <= 0 ? now : now + (left / perDay) * DAY_MS;
  const isReached = counted.max > 0 && (endAt === null || reachedAt < endAt);
  return { startAt, endAt, expected, fullAt: isReached ? reachedAt : null, perDay };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
