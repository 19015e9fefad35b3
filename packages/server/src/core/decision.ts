import type { ErrorCode } from '@berth/protocol/errors';
import type { LicenseEvent, SystemEvent } from './audit-event.ts';
import type { Instant } from './instant.ts';
import type { License, LicenseId } from './license.ts';
import type { Registration } from './registration.ts';
import type { Denial } from './view.ts';

/** What the caller is told. */
export type Outcome = Granted | Done | Refused;

/** The user holds a slot. */
export interface Granted {
  readonly kind: 'granted';
  readonly license: License;
  readonly registration: Registration;
  readonly inUse: number;
  readonly now: Instant;
}

export interface Done {
  readonly kind: 'done';
  /** How many slots or records it concerned. */
  readonly count: number;
}

/** A refusal is an answer, not a failure: it is returned, never thrown. */
export interface Refused {
  readonly kind: 'refused';
  readonly code: ErrorCode;
  /** What happened and what to do, as a sentence. */
  readonly message: string;
  /** Facts for the caller. Names that end in `At` or `Until` hold instants. */
  readonly details: Readonly<Record<string, number | string | null>>;
}

/** What the store writes, in this order, in the same commit as the events. */
export type Change =
  | { readonly kind: 'put_registration'; readonly registration: Registration }
  | { readonly kind: 'remove_registration'; readonly user: string }
  | { readonly kind: 'remove_live_registrations' }
  | { readonly kind: 'set_in_use'; readonly inUse: number }
  | { readonly kind: 'put_license'; readonly license: License }
  /** No slot is held beyond this instant. */
  | { readonly kind: 'end_registrations_by'; readonly endsBy: Instant }
  | { readonly kind: 'put_denial'; readonly denial: Denial }
  | { readonly kind: 'remove_denial'; readonly denial: Denial }
  | { readonly kind: 'add_recall'; readonly user: string; readonly borrowedUntil: Instant };

export type SystemChange =
  | {
      readonly kind: 'put_account';
      readonly name: string;
      readonly role: 'admin';
      readonly passwordHash: string;
      readonly oneTime: boolean;
    }
  | { readonly kind: 'put_token'; readonly tokenHash: string; readonly account: string }
  | { readonly kind: 'touch_token'; readonly tokenHash: string }
  | { readonly kind: 'remove_tokens'; readonly lastUsedBy: Instant };

export interface Decision {
  readonly outcome: Outcome;
  readonly changes: readonly Change[];
  readonly events: readonly LicenseEvent[];
}

export interface SystemDecision {
  readonly outcome: Outcome;
  readonly changes: readonly SystemChange[];
  readonly events: readonly SystemEvent[];
}

/** Which license a command acts on. */
export type Choice = { readonly kind: 'chosen'; readonly licenseId: LicenseId } | Refused;

export function refuse(code: ErrorCode, message: string, details: Refused['details'] = {}): Refused {
  return { kind: 'refused', code, message, details };
}
