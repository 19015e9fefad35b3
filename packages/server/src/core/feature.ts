import type { Instant } from './instant.ts';

export type ConsumptionPeriod = 'daily' | 'weekly' | 'monthly' | 'annually';

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

export interface Feature {
  readonly id: number;
  readonly code: string;
  readonly name: string;
  readonly type: 'activation' | 'consumption';
  readonly consumption: ConsumptionLimits;
  /** Slots of its own; `null` for a feature that is not floating. */
  readonly floating: { readonly slots: number; readonly timeoutMinutes: number } | null;
  readonly expiresAt: Instant | null;
  readonly metadata: Readonly<Record<string, unknown>>;
}
