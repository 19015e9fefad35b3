import { HOUR_MS, type Instant, MINUTE_MS } from '@berth/server/core/nouns/instant';
import type { LicenseId } from '@berth/server/core/nouns/license';
import type { Refusal } from './model-refusals.ts';
import type { Place } from './naive-rules.ts';

export const TIMEOUT_MS = 10 * MINUTE_MS;
/** The longest that any of the licenses allows. */
export const MAX_BORROW_MS = 24 * HOUR_MS;
export const SHORT_BORROW_MS = 2 * HOUR_MS;
export const TOLERANCE_MS = 5 * MINUTE_MS;

/** The facts of a license that change while the model runs. */
export interface Facts {
  readonly slots: number;
  readonly enabled: boolean;
  readonly validUntil: Instant | null;
  /** 0: it does not allow borrowing. */
  readonly maxBorrowHours: number;
}

export interface Held {
  endsAt: Instant;
  borrowedUntil: Instant | null;
}

/** A slot, where its holder was last, and where it is counted. */
interface HeldSlot extends Held {
  readonly at: Place;
  readonly counted: Place;
}

/** What requests say that say nothing else. */
export const SOMEWHERE: Place = { hostname: 'host-1', address: null };

export interface ModelLicense {
  readonly id: LicenseId;
  facts: Facts;
  readonly holders: Map<string, HeldSlot>;
  /** How often somebody was refused a slot. */
  denials: number;
}

/** What a store must answer. */
export type Expected =
  | {
      readonly kind: 'granted';
      readonly licenseId: LicenseId;
      readonly inUse: number;
      readonly endsAt: Instant;
      readonly borrowedUntil: Instant | null;
    }
  | {
      readonly kind: 'measured';
      readonly licenseId: LicenseId;
      readonly total: number;
      readonly inUse: number;
      readonly endsAt: Instant | null;
      readonly borrowedUntil: Instant | null;
    }
  | { readonly kind: 'done'; readonly count: number }
  | Refusal;

/** By the id of the license. */
export const FIRST_FACTS: Readonly<Record<number, Facts>> = Object.fromEntries(
  [24, 2, 0].map((maxBorrowHours, index) => [
    index + 1,
    { slots: 2, enabled: true, maxBorrowHours, validUntil: null },
  ]),
);

export function isFull({ facts, holders }: ModelLicense): boolean {
  return holders.size >= facts.slots;
}

export function isOver({ facts, holders }: ModelLicense): boolean {
  return holders.size > facts.slots;
}

export function later(a: Instant, b: Instant): Instant {
  return a > b ? a : b;
}

/** Nothing is held beyond the limit. */
export function cutHeld(held: Held, limit: Instant | null): void {
  held.endsAt = cut(held.endsAt, limit);
  if (held.borrowedUntil !== null) held.borrowedUntil = cut(held.borrowedUntil, limit);
}

export function cut(at: Instant, limit: Instant | null): Instant {
  return limit !== null && limit < at ? limit : at;
}
