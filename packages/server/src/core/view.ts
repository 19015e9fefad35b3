import type { AddressRange } from '@berth/protocol/address-range';
import type { ErrorCode } from '@berth/protocol/errors';
import type { Meter } from './nouns/consumption.ts';
import type { EndedBorrow } from './nouns/ended-borrow.ts';
import type { FeatureSlot } from './nouns/feature-slot.ts';
import type { Instant } from './nouns/instant.ts';
import type { License, LicenseId } from './nouns/license.ts';
import type { Registration } from './nouns/registration.ts';
import type { Measured } from './outcome.ts';
import type { Rules } from './rules/rules.ts';

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
  /** Feature slots whose time is over, or whose user's slot is among `ended`. */
  readonly endedFeatureSlots: readonly FeatureSlot[];
  /** What was counted of the license or feature that the command is about, if it is about one. */
  readonly meter: Meter | null;
  /** What the administrator allows beyond the license. */
  readonly rules: Rules;
}

/** What is held of a license from one place. */
export interface Crowd {
  readonly slots: number;
  readonly borrows: number;
}

/** The head, and the facts that the command's module asked for. */
export interface LicenseView extends LicenseHead {
  /** When the next live slot ends; `null` when none is held, or when nobody asked. */
  readonly nextEndsAt: Instant | null;
  readonly registration: Registration | null;
  /** The borrow of the same user that has ended, when asked for and no registration is there. */
  readonly endedBorrow: EndedBorrow | null;
  /** What is held from where the request comes from; `null` when nobody has to know. */
  readonly crowd: Crowd | null;
  /** Several registrations with their feature slots, when asked for. */
  readonly holders: readonly {
    readonly registration: Registration;
    readonly featureSlots: readonly FeatureSlot[];
  }[];
  /** The feature slots of that user. */
  readonly featureSlots: readonly FeatureSlot[];
  /** How many more slots of that feature have ended beyond `endedFeatureSlots`. */
  readonly featureEndedBeyond: number;
  /** When the next slot of that feature ends by itself; `null` when none is held, or when nobody asked. */
  readonly featureNextEndsAt: Instant | null;
  /** Live slots of all features, when asked for. */
  readonly featureSlotCount: number;
  readonly rememberedAnswer: RememberedAnswer | null;
  /** Everything of this license that is on its way to the vendor, when asked for. */
  readonly reports: readonly Report[];
  /** What was counted of the license and of its features, when asked for. */
  readonly meters: readonly Meter[];
  /** The user's denials, one a code. */
  readonly denials: readonly Denial[];
  /** The denials from where the request comes from, one a code. */
  readonly placeDenials: readonly PlaceDenial[];
  /** Denials whose window is over, at most `COLLECT_LIMIT`. */
  readonly staleDenials: readonly Denial[];
  /** Those of places that have counted something, or whose window is over. */
  readonly stalePlaceDenials: readonly PlaceDenial[];
  /** How many first answers are too old to be repeated, at most `COLLECT_LIMIT`. */
  readonly staleAnswers: number;
}

/** Which facts a decision needs besides the head and the holder's registration. */
export interface ViewNeeds {
  readonly nextEnd: boolean;
  /** The holder's borrow that has ended. */
  readonly endedBorrow: boolean;
  /** The holder's feature slots. */
  readonly featureSlots: boolean;
  /** How much is held from these addresses. */
  readonly crowd: AddressRange | null;
  /** Several registrations with their feature slots. */
  readonly holders: readonly string[];
  /** How many slots of the meter's feature have ended beyond the collected ones, and when the next ends. */
  readonly featureSlotsEnd: boolean;
  readonly featureSlotCount: boolean;
  readonly answer: AnswerScope | null;
  readonly reports: boolean;
  readonly meters: readonly MeterNeed[];
  readonly denials: DenialScope | null;
  readonly stale: StaleNeeds | null;
}

/** Whose earlier denials, and from which place; `null`: the request did not come over the network. */
export interface DenialScope {
  readonly user: string;
  readonly place: string | null;
}

/** Counters and answers that were begun at or before these instants are over. */
export interface StaleNeeds {
  readonly denialsBy: Instant;
  readonly placesBy: Instant;
  readonly answersBy: Instant;
}

export const NO_NEEDS: ViewNeeds = {
  nextEnd: false,
  endedBorrow: false,
  featureSlots: false,
  crowd: null,
  holders: [],
  featureSlotsEnd: false,
  featureSlotCount: false,
  answer: null,
  reports: false,
  meters: [],
  denials: null,
  stale: null,
};

/** A user's last denial with this code that became an event, and how often it was repeated since. */
export interface Denial {
  /** Empty where nobody was named. */
  readonly user: string;
  /** Empty for the license itself. */
  readonly feature: string;
  readonly code: ErrorCode;
  readonly deniedAt: Instant;
  readonly repeated: number;
}

/**
 * The denials with one code that came from one place since a window was opened: how many have become events,
 * and how many were only counted, because the place had its share.
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

/** Where an idempotency key counts: the same key elsewhere is another key. */
export interface AnswerScope {
  readonly operation: string;
  /** Empty where nobody was named. */
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
  /** When it turned out that nobody can tell whether the vendor has counted it; `null`: it will be told. */
  readonly uncertainAt: Instant | null;
}

/** One license of a pool, and what ties this user to it. */
export interface Candidate {
  readonly license: License;
  readonly holdsSlot: boolean;
  /** This very request, told by its key, was counted on it before. */
  readonly hasAnswered: boolean;
}

/** What is known of a license, of a request and of this server when a file comes in. */
export interface FileView {
  readonly hardwareId: string | null;
  /** The license as it is or was here; `null`: it never was. */
  readonly known: License | null;
  readonly isHeld: boolean;
  /** The request that the file names; `null`: none of ours. */
  readonly request: { readonly answeredBy: LicenseId | null } | null;
}
