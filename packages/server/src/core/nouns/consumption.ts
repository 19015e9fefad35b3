import {
  type ConsumptionPeriod,
  windowEndMillis,
  windowStartMillis,
} from '@berth/protocol/api/consumption-window';
import type { ConsumptionLimits } from './feature.ts';
import { type Instant, instant } from './instant.ts';

/** What has been counted of a license, or of one of its features, in the window that holds `now`. */
export interface Meter {
  /** A feature's code, or `''` for the license itself. */
  readonly feature: string;
  readonly windowStart: Instant;
  /** Counted in this window. */
  readonly total: number;
  /** Counted and not yet cut into a report for the vendor, over all windows. */
  readonly pending: number;
  /** Counted and known to the vendor, over all windows. */
  readonly reported: number;
  /** The total at the vendor's cloud when nothing was on its way there; `null`: unknown. */
  readonly cloudTotal: number | null;
  /** When that was. */
  readonly cloudAt: Instant | null;
  /** Feature slots as stored: live ones, and ended ones that are not collected yet. */
  readonly storedInUse: number;
}

/** The code under which the license's own meter stands beside those of its features. */
export const WHOLE_LICENSE = '';

/** No amount is larger: beyond it numbers are no longer exact. */
export const LARGEST_AMOUNT = Number.MAX_SAFE_INTEGER;

/** The first instant of the window that holds `now`. */
export function windowStart(period: ConsumptionPeriod | null, now: Instant): Instant {
  return instant(windowStartMillis(period, now));
}

/** The first instant of the next window; `null` when there is none. */
export function windowEnd(period: ConsumptionPeriod | null, now: Instant): Instant | null {
  const end = windowEndMillis(period, now);
  return end === null ? null : instant(end);
}

/** How a caller may narrow the overage for one call. It never widens what the license allows. */
export interface Narrowing {
  readonly allowOverages: boolean | null;
  readonly maxOverages: number | null;
}

/** The highest total that is possible, or `null` where there is no limit. */
export function highestTotal(limits: ConsumptionLimits, narrowing: Narrowing): number | null {
  if (limits.unlimited) return null;
  const granted = limits.allowOverages ? limits.maxOverages : 0;
  const wanted = narrowing.allowOverages === false ? 0 : (narrowing.maxOverages ?? granted);
  return limits.max + Math.min(granted, wanted);
}

/** What was counted of a license and its features: clients see it with the license. */
export interface ConsumptionTotals {
  readonly total: number;
  readonly features: readonly FeatureTotals[];
}

export interface FeatureTotals {
  readonly code: string;
  readonly total: number;
  /** Slots in use. */
  readonly inUse: number;
}
