import type { AddressRange } from '@berth/protocol/address-range';
import type { ErrorCode } from '@berth/protocol/errors';
import type { Meter } from './nouns/consumption.ts';
import type { EndedBorrow } from './nouns/ended-borrow.ts';
import type { FeatureSlot } from './nouns/feature-slot.ts';
import type { Instant } from './nouns/instant.ts';
import type { License, LicenseId } from './nouns/license.ts';
import type { Registration } from './nouns/registration.ts';
import type { Measured } from './outcome.ts';
import type { HeldSlots, Supply } from './rules/judge-slot.ts';
import type { Rules } from './rules/rules.ts';

/** A command collects at most this many ended slots; it counts the rest and leaves them to the next. */
export const COLLECT_LIMIT = 1000;

/**
 * What every decision on a license sees. It costs the same however many slots there are: the number in use is
 * stored, and every command corrects it before it decides.
 */
export interface LicenseHead {
  readonly license: License;
  /** As stored: live slots, and ended ones that are not collected yet. */
  readonly storedInUse: number;
  /** Ended slots, oldest first, at most `COLLECT_LIMIT`. */
  readonly ended: readonly Registration[];
  /** How many more have ended. */
  readonly endedBeyond: number;
  /** Ended feature slots, and those whose user's slot is among `ended`. */
  readonly endedFeatureSlots: readonly FeatureSlot[];
  /** Of the license or feature that the command counts or lends, if any. */
  readonly meter: Meter | null;
  readonly rules: Rules;
  /** Free slots that are kept for others, who wait and come first. */
  readonly kept: number;
}

/** What reservations and limits look at. */
export interface Holdings {
  /** Slots of the product or the feature, on all licenses of the product that can be used now. */
  readonly inPool: HeldSlots;
  /** Those that fill reservations: a feature is reserved on each license by itself. */
  readonly reserved: HeldSlots;
  readonly supply: Supply;
  /** What would be free if a slot of this license, or of its feature, were returned. */
  readonly freeAfterReturn: number;
}

/**
 * What a decision may look at. A method reads its fact when it is called, so that a command pays only for
 * what it needs. Facts about the holder are about the `holder` of the command's subject.
 */
export interface LicenseView extends LicenseHead {
  /** The holder's. */
  readonly registration: Registration | null;
  /** When the next live slot ends; `null`: none is held. */
  findNextEnd(): Instant | null;
  countBorrowed(): number;
  /** The holder's borrow that has ended. */
  findEndedBorrow(): EndedBorrow | null;
  /** Nothing that has ended is among it, and nothing that the user would leave by this command. */
  readHoldings(feature: string | null): Holdings;
  /** Slots of the product that can be used now, and how many are borrowed, if given from these addresses. */
  countPoolBorrows(range: AddressRange | null): { readonly slots: number; readonly borrowed: number };
  /** The slots of the subject's `users`. */
  listHolders(): readonly Holder[];
  /** All stored slots. They may be very many: only for what removes them all. */
  listAll(): {
    readonly registrations: readonly Registration[];
    readonly featureSlots: readonly FeatureSlot[];
  };
  /** The holder's. */
  listFeatureSlots(): readonly FeatureSlot[];
  /** How many slots of the meter's feature have ended beyond `endedFeatureSlots`. */
  countFeatureEndedBeyond(): number;
  /** When the next slot of the meter's feature ends by itself; `null`: none is held. */
  findNextFeatureEnd(): Instant | null;
  /** Live slots of all features. */
  countFeatureSlots(): number;
  /** The first answer to this request. */
  findAnswer(): RememberedAnswer | null;
  /** All reports of the license on their way to the vendor. */
  listReports(): readonly Report[];
  listMeters(needs: readonly MeterNeed[]): readonly Meter[];
  /** Earlier denials of this user. */
  listDenials(user: string): readonly Denial[];
  /** Earlier denials from this place, one per code. */
  listPlaceDenials(place: string): readonly PlaceDenial[];
  /** Denials whose window was opened by then, at most `COLLECT_LIMIT`. */
  listStaleDenials(deniedBy: Instant): readonly Denial[];
  /** The same for places, and those that have folded denials. */
  listStalePlaceDenials(deniedBy: Instant): readonly PlaceDenial[];
  /** How many answers are at least this old, at most `COLLECT_LIMIT`. */
  countStaleAnswers(answeredBy: Instant): number;
}

/** A user's slot, and their feature slots. */
export interface Holder {
  readonly registration: Registration;
  readonly featureSlots: readonly FeatureSlot[];
}

/** A user's last recorded denial with this code, and how often it was repeated since. */
export interface Denial {
  /** Empty if nobody was named. */
  readonly user: string;
  /** Empty for the license itself. */
  readonly feature: string;
  readonly code: ErrorCode;
  readonly deniedAt: Instant;
  readonly repeated: number;
}

/**
 * The denials with one code from one place since a window was opened: how many became events, and how many
 * were only counted because the place had its share.
 */
export interface PlaceDenial {
  readonly place: string;
  readonly code: ErrorCode;
  readonly deniedAt: Instant;
  readonly recorded: number;
  readonly repeated: number;
}

/** Which meter, in which window. */
export interface MeterNeed {
  readonly feature: string;
  readonly windowStart: Instant;
}

/** Where an idempotency key is valid: the same key elsewhere is another key. */
export interface AnswerScope {
  readonly operation: string;
  /** Empty if nobody was named. */
  readonly user: string;
  readonly key: string;
}

/** The first answer to a request that may be repeated. */
export interface RememberedAnswer extends AnswerScope {
  readonly bodyHash: string;
  readonly answeredAt: Instant;
  readonly outcome: Measured;
}

/** An amount on its way to the vendor. */
export interface Report {
  readonly id: string;
  readonly feature: string;
  readonly amount: number;
  readonly cutAt: Instant;
  /** When it became unknowable whether the vendor has counted it; `null`: it will be known. */
  readonly uncertainAt: Instant | null;
}

/** One license of a pool, and what ties this user to it. */
export interface Candidate {
  readonly license: License;
  readonly holdsSlot: boolean;
  /** It has answered this very request before, by its key. */
  readonly hasAnswered: boolean;
}

/** What is known when a file comes in. */
export interface FileView {
  readonly hardwareId: string | null;
  /** The license as the server has or had it; `null`: it never had it. */
  readonly known: License | null;
  readonly isHeld: boolean;
  /** The request that the file names; `null`: this server did not make it. */
  readonly request: {
    readonly answeredBy: LicenseId | null;
    /** The key that it asked for; `null`: it named none. */
    readonly licenseKey: string | null;
  } | null;
}
