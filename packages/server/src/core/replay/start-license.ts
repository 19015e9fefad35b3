import type { Feature } from '../nouns/feature.ts';
import { type Instant, instant } from '../nouns/instant.ts';
import { allowsBorrowing, type License, withinValidity } from '../nouns/license.ts';

/** A license as it was when a replay begins. */
export interface StartLicense {
  readonly id: number;
  readonly product: string;
  readonly slots: number;
  /** The number of slots may be another one: the log says no more. */
  readonly isUnsure: boolean;
  /** The slots of floating features, as they are now: the log does not record them. */
  readonly features: ReadonlyMap<string, number>;
  /** Whether the server had it. */
  readonly isHeld: boolean;
  readonly enabled: boolean;
  readonly active: boolean;
  readonly startsAt: Instant | null;
  /** With its grace. */
  readonly endsAt: Instant | null;
  /** 0: it does not allow borrowing. */
  readonly maxBorrowHours: number;
}

const NEVER = instant(Number.MAX_SAFE_INTEGER);

export function startOf(license: License): StartLicense {
  const { id, product, slots, features, enabled, active, startsAt, validUntil } = license;
  return {
    id,
    product,
    slots,
    isUnsure: false,
    features: slotsOfFeatures(features),
    isHeld: true,
    enabled,
    active,
    startsAt,
    endsAt: validUntil === null ? null : withinValidity(license, NEVER),
    maxBorrowHours: allowsBorrowing(license) ? license.maxBorrowHours : 0,
  };
}

function slotsOfFeatures(features: readonly Feature[]): ReadonlyMap<string, number> {
  return new Map(
    features.flatMap(({ code, floating }) => (floating === null ? [] : [[code, floating.slots]])),
  );
}

/** A license that the server no longer has: the log says little about it. */
export function unknownLicense(id: number, product: string, slots: number): StartLicense {
  return {
    id,
    product,
    slots,
    isUnsure: true,
    features: new Map(),
    isHeld: true,
    enabled: true,
    active: true,
    startsAt: null,
    endsAt: null,
    maxBorrowHours: 0,
  };
}
