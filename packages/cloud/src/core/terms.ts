import type { ConsumptionPeriod } from '@berth/protocol/api/consumption-window';
import type { FEATURE_TYPES, LICENSE_TYPES } from '@berth/protocol/api/license-object';

export type LicenseType = (typeof LICENSE_TYPES)[number];
type FeatureType = (typeof FEATURE_TYPES)[number];

/** How slots of a license or a feature are lent. */
export interface Lending {
  readonly slots: number;
  readonly timeoutMinutes: number;
  /** 0: no borrowing. */
  readonly borrowHours: number;
}

/** The consumption limit of a license or a feature. */
export interface ConsumptionLimits {
  /** `null`: unlimited. */
  readonly max: number | null;
  readonly overages: number;
  readonly allowNegative: boolean;
  /** `null`: the total is never reset. */
  readonly period: ConsumptionPeriod | null;
}

export interface Feature {
  readonly id: number;
  readonly code: string;
  readonly name: string;
  readonly type: FeatureType;
  readonly consumption: ConsumptionLimits;
  /** `null`: it has no slots. */
  readonly lending: Lending | null;
  readonly expiresAt: number | null;
}

/** What the vendor grants. Only the vendor can change it. */
export interface Terms {
  readonly type: LicenseType;
  /** `null`: the license is not floating. */
  readonly lending: Lending | null;
  readonly startsAt: number | null;
  /** The first instant at which it is no longer valid. `null`: never expires. */
  readonly validUntil: number | null;
  readonly graceHours: number;
  /** The largest number of devices at a time; `null`: unlimited. */
  readonly maxActivations: number | null;
  readonly consumption: ConsumptionLimits;
  readonly features: readonly Feature[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly company: string | null;
}

export const NO_CONSUMPTION: ConsumptionLimits = {
  max: 0,
  overages: 0,
  allowNegative: false,
  period: null,
};

/** How long a slot lives without a heartbeat by default. */
export const DEFAULT_TIMEOUT_MINUTES = 60;

/** The defaults: one device, no expiry, not floating. */
export const PLAIN_TERMS: Terms = {
  type: 'perpetual',
  lending: null,
  startsAt: null,
  validUntil: null,
  graceHours: 0,
  maxActivations: 1,
  consumption: NO_CONSUMPTION,
  features: [],
  metadata: {},
  company: null,
};
