import type { ErrorCode } from '@berth/protocol/errors';
import type { Instant } from './instant.ts';
import type { License } from './license.ts';
import type { Registration } from './registration.ts';

/** At most this many ended slots are collected by one command; the rest is counted and left to the next. */
export const COLLECT_LIMIT = 1000;

/**
 * What every decision on a license sees. Its cost does not grow with the number of slots: what
 * is in use is a stored number, brought up to date by every command before it decides.
 */
export interface LicenseHead {
  readonly license: License;
  /** As stored: live slots, and ended ones that nobody has collected yet. */
  readonly storedInUse: number;
  /** Slots whose time is over, the longest ended first, at most `COLLECT_LIMIT`. */
  readonly ended: readonly Registration[];
  /** How many more have ended beyond those. */
  readonly endedBeyond: number;
}

/** The head, and the facts that this command asked for with `needsOf`. */
export interface LicenseView extends LicenseHead {
  /** When the next live slot ends; `null` when none is held, or when nobody asked. */
  readonly nextEndsAt: Instant | null;
  readonly registration: Registration | null;
  /** The user's denials, one a code. */
  readonly denials: readonly Denial[];
  readonly recalls: number;
  /** Denials whose window is over, at most `COLLECT_LIMIT`. */
  readonly staleDenials: readonly Denial[];
}

/** Which facts beside the head a decision will ask for. */
export interface ViewNeeds {
  readonly nextEnd: boolean;
  readonly registrationOf: string | null;
  readonly denialsOf: string | null;
  /** Count the recalls later than this. */
  readonly recallsAfter: Instant | null;
  /** Denials whose window was opened at or before this. */
  readonly denialsOpenedBy: Instant | null;
}

export const NO_NEEDS: ViewNeeds = {
  nextEnd: false,
  registrationOf: null,
  denialsOf: null,
  recallsAfter: null,
  denialsOpenedBy: null,
};

/** A user's last denial with this code that became an event, and how often it was repeated since. */
export interface Denial {
  readonly user: string;
  readonly code: ErrorCode;
  readonly deniedAt: Instant;
  readonly repeated: number;
}

/** One license of the product that a command means, and whether this user holds a slot of it. */
export interface Candidate {
  readonly license: License;
  readonly holdsSlot: boolean;
}

/** What the choice of a license sees, the most recently added license first. */
export interface Shelf {
  /** How many products the server holds in all. */
  readonly products: number;
  readonly candidates: readonly Candidate[];
}

/** What decisions about the server itself see. */
export interface SystemView {
  readonly accountExists: boolean;
  readonly tokenUsedAt: Instant | null;
}
