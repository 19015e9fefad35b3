import type { ConsumptionLimits, Feature } from './feature.ts';
import { earlier, HOUR_MS, type Instant, MINUTE_MS, plus } from './instant.ts';

export type LicenseId = number & { readonly brand: 'LicenseId' };

export function licenseId(id: number): LicenseId {
  return id as LicenseId;
}

export type LicenseSource = 'cloud' | 'offline' | 'airgap' | 'demo';
export type LicenseType = 'perpetual' | 'time-limited' | 'consumption' | 'subscription';

/**
 * What the vendor granted. Plain facts; whether they allow something now is asked with the functions below.
 */
export interface License {
  readonly id: LicenseId;
  readonly product: string;
  readonly key: string;
  readonly source: LicenseSource;
  readonly type: LicenseType;

  readonly slots: number;
  /** How long a slot lives without a heartbeat. At least 1. */
  readonly timeoutMinutes: number;
  readonly canBorrow: boolean;
  /** 0 means no borrowing. */
  readonly maxBorrowHours: number;

  readonly enabled: boolean;
  readonly active: boolean;
  readonly startsAt: Instant | null;
  /** The first instant at which it is no longer valid. `null`: for ever. */
  readonly validUntil: Instant | null;
  readonly allowGracePeriod: boolean;
  readonly graceHours: number;

  readonly consumption: ConsumptionLimits;
  readonly features: readonly Feature[];
  readonly particulars: LicenseParticulars;
}

/** What Berth passes on to clients without ever deciding by it. */
export interface LicenseParticulars {
  readonly isTrial: boolean;
  readonly maintenanceUntil: Instant | null;
  readonly maxActivations: number;
  readonly timesActivated: number;
  readonly allowUnlimitedActivations: boolean;
  readonly maxTransfers: number;
  readonly transferCount: number;
  readonly customFields: readonly Readonly<Record<string, unknown>>[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly customer: Readonly<Record<string, unknown>>;
  readonly productDetails: ProductDetails;
}

export interface ProductDetails {
  readonly id: number;
  readonly name: string;
  readonly authorizationMethod: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export type LicenseState = 'disabled' | 'inactive' | 'not_started' | 'active' | 'in_grace' | 'expired';

/** Computed, never stored: a license needs no timer to start or to end. */
export function licenseState(license: License, now: Instant): LicenseState {
  if (!license.enabled) return 'disabled';
  if (!license.active) return 'inactive';
  if (license.startsAt !== null && now < license.startsAt) return 'not_started';
  if (license.validUntil === null || now < license.validUntil) return 'active';
  return now < graceEnd(license, license.validUntil) ? 'in_grace' : 'expired';
}

export function isUsable(license: License, now: Instant): boolean {
  const state = licenseState(license, now);
  return state === 'active' || state === 'in_grace';
}

function graceEnd(license: License, validUntil: Instant): Instant {
  return license.allowGracePeriod ? plus(validUntil, license.graceHours * HOUR_MS) : validUntil;
}

/** Cuts an instant to the end of validity and grace: nothing is held longer than that. */
export function withinValidity(license: License, at: Instant): Instant {
  return license.validUntil === null ? at : earlier(at, graceEnd(license, license.validUntil));
}

/** Until when a slot lives that is lent or renewed now. */
export function heartbeatEnd(license: License, now: Instant): Instant {
  return withinValidity(license, plus(now, license.timeoutMinutes * MINUTE_MS));
}

export function allowsBorrowing(license: License): boolean {
  return license.canBorrow && license.maxBorrowHours > 0;
}

/** The latest instant until which a slot can be borrowed now. Grace does not count: it is not validity. */
export function latestBorrowUntil(license: License, now: Instant): Instant {
  const longest = plus(now, license.maxBorrowHours * HOUR_MS);
  return license.validUntil === null ? longest : earlier(longest, license.validUntil);
}
