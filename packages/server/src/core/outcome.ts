import type { ErrorCode } from '@berth/protocol/errors';
import type { Denied } from './nouns/audit-event.ts';
import type { LostBorrow, NamedBorrow } from './nouns/ended-borrow.ts';
import type { ConsumptionLimits, Feature } from './nouns/feature.ts';
import type { FeatureSlot } from './nouns/feature-slot.ts';
import type { Instant } from './nouns/instant.ts';
import type { License, LicenseId } from './nouns/license.ts';
import type { Registration } from './nouns/registration.ts';

/** The answer to the caller. */
export type Outcome = Granted | Measured | ClockReset | Waiting | HandedOn | Done | Refused;

/** The user holds a slot. */
export interface Granted {
  readonly kind: 'granted';
  readonly license: License;
  readonly registration: Registration;
  readonly inUse: number;
  readonly now: Instant;
}

/** What was counted of a license or of a feature, after this command. */
export interface Measured {
  readonly kind: 'measured';
  readonly licenseId: LicenseId;
  /** `null`: the license itself. */
  readonly feature: Feature | null;
  readonly limits: ConsumptionLimits;
  readonly total: number;
  /** Slots of the feature in use. */
  readonly inUse: number;
  /** The user's slot of the feature, where one was lent. */
  readonly slot: FeatureSlot | null;
  /** With that slot: its license, and when the user's slot of the license ends. */
  readonly holder?: { readonly license: License; readonly endsAt: Instant };
  readonly now: Instant;
}

/** The clock went back, or would. */
export interface ClockReset {
  readonly kind: 'clock_reset';
  readonly restored: readonly NamedBorrow[];
  readonly lost: readonly LostBorrow[];
}

/** Whose turn it is, or will be: a place in the line belongs to a user. */
export interface PlaceKey {
  readonly product: string;
  /** Empty for the license itself. */
  readonly feature: string;
  readonly user: string;
}

/** The user waits in line. */
export interface Waiting extends PlaceKey {
  readonly kind: 'waiting';
  /** When the slot that ends next ends by itself; `null`: unknown. */
  readonly nextEndAt: Instant | null;
  readonly now: Instant;
}

/** Slots were handed on. */
export interface HandedOn {
  readonly kind: 'handed_on';
  /** Users of this server who have a slot and were not answered yet. */
  readonly lent: readonly PlaceKey[];
  /** How many still wait. */
  readonly waiting: number;
  readonly nextEndAt: Instant | null;
  readonly now: Instant;
}

export interface Done {
  readonly kind: 'done';
  /** How many slots or records were affected. */
  readonly count: number;
  /** How many programs still use the slot that one has left; left out unless one has said its name. */
  readonly programs?: number;
}

/** A refusal is an answer, not a failure: it is returned, never thrown. */
export interface Refused {
  readonly kind: 'refused';
  readonly code: ErrorCode;
  /** What happened and what to do, as a sentence. */
  readonly message: string;
  /** Facts for the caller. Names that end in `At` or `Until` hold instants. */
  readonly details: Readonly<Record<string, number | string | null | readonly (object | string)[]>>;
  /** Facts for the audit log that clients must not see. */
  readonly recorded?: Pick<Denied, 'barred' | 'barredBy'>;
}

export function refuse(code: ErrorCode, message: string, details: Refused['details'] = {}): Refused {
  return { kind: 'refused', code, message, details };
}
