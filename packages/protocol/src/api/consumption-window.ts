import type { CONSUMPTION_PERIODS } from './license-object.ts';

export type ConsumptionPeriod = (typeof CONSUMPTION_PERIODS)[number];

const DAY_MS = 24 * 60 * 60 * 1000;
const WEEK_MS = 7 * DAY_MS;

/** 1970-01-01 was a Thursday; weeks start on Monday. */
const FIRST_MONDAY_MS = 4 * DAY_MS;

/** A total that is never reset has one window, from the epoch. */
const ALWAYS = 0;

/** The start of the window that contains `now`, in UTC. A reset needs no timer: it is another window. */
export function windowStartMillis(period: ConsumptionPeriod | null, now: number): number {
  const date = new Date(now);
  switch (period) {
    case null:
      return ALWAYS;
    case 'daily':
      return Math.floor(now / DAY_MS) * DAY_MS;
    case 'weekly':
      return Math.floor((now - FIRST_MONDAY_MS) / WEEK_MS) * WEEK_MS + FIRST_MONDAY_MS;
    case 'monthly':
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
    case 'annually':
      return Date.UTC(date.getUTCFullYear(), 0, 1);
  }
}

/** The start of the next window; `null` if there is none. */
export function windowEndMillis(period: ConsumptionPeriod | null, now: number): number | null {
  const start = windowStartMillis(period, now);
  const date = new Date(start);
  switch (period) {
    case null:
      return null;
    case 'daily':
      return start + DAY_MS;
    case 'weekly':
      return start + WEEK_MS;
    case 'monthly':
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
    case 'annually':
      return Date.UTC(date.getUTCFullYear() + 1, 0, 1);
  }
}
