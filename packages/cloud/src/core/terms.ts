import type { ConsumptionPeriod } from '@berth/protocol/api/consumption-window';
import type { FEATURE_TYPES, LICENSE_TYPES } from '@berth/protocol/api/license-object';

export type LicenseType = (typeof LICENSE_TYPES)[number];
type FeatureType = (typeof FEATURE_TYPES)[number];

/** How slots are lent, of a license or of one of its features. */
export interface Lending {
  readonly slots: number;
  readonly timeoutMinutes: number;
  /** 0 means no borrowing. */
  readonly borrowHours: number;
}

/** How much may be consumed, of a license or of one of its features. */
export interface ConsumptionLimits {
  /** `null`: as much as one likes. */
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
  /** `null`: it has no slots of its own. */
  readonly lending: Lending | null;
  readonly expiresAt: number | null;
}

/** What the vendor grants. The vendor alone changes it; whoever uses the license never does. */
export interface Terms {
  readonly type: LicenseType;
  /** `null`: the license is not floating. */
  readonly lending: Lending | null;
  readonly startsAt: number | null;
  /** The first instant at which it is no longer valid. `null`: for ever. */
  readonly validUntil: number | null;
  readonly graceHours: number;
  /** On how many devices at once; `null`: as many as one likes. */
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

/** How long a slot lives without a heartbeat, unless the vendor says otherwise. */
export const DEFAULT_TIMEOUT_MINUTES = 60;

/** What a license is before anything is said about it: for one device, for ever, nothing floating. */
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
