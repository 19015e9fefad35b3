import type { ConsumptionPeriod } from '@berth/protocol/api/consumption-window';
import type { Instant } from './instant.ts';

/** How much may be consumed, of a license or of one of its features. */
export interface ConsumptionLimits {
  readonly max: number;
  readonly unlimited: boolean;
  readonly allowOverages: boolean;
  readonly maxOverages: number;
  readonly allowNegative: boolean;
  /** `null`: the total is never reset. */
  readonly period: ConsumptionPeriod | null;
}

/** How the slots of a floating feature are lent, within those of the license. */
export interface FeatureLending {
  readonly slots: number;
  readonly timeoutMinutes: number;
  readonly canBorrow: boolean;
  /** 0 means no borrowing. */
  readonly maxBorrowHours: number;
}

export interface Feature {
  readonly id: number;
  readonly code: string;
  readonly name: string;
  readonly type: 'activation' | 'consumption';
  readonly consumption: ConsumptionLimits;
  /** Slots of its own; `null` for a feature that is not floating. */
  readonly floating: FeatureLending | null;
  readonly expiresAt: Instant | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** By code; of two with the same code the first. Searching thousands for each would be slow. */
export function indexByCode<T extends { readonly code: string }>(list: readonly T[]): ReadonlyMap<string, T> {
  return new Map(list.toReversed().map((one) => [one.code, one]));
}
