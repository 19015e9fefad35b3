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
}

/** What is held of a license from one place. */
export interface Crowd {
  readonly slots: number;
  readonly borrows: number;
}

/** The head, and the facts that the command's module asked for. */
export interface LicenseView extends LicenseHead {
  /** When the next live slot ends; `null`: none is held, or it was not asked for. */
  readonly nextEndsAt: Instant | null;
  /** How many slots are borrowed; `null`: not asked for. */
  readonly borrowed: number | null;
  readonly registration: Registration | null;
  /** The holder's ended borrow, if asked for and there is no registration. */
  readonly endedBorrow: EndedBorrow | null;
  /** What is held from the sender's address; `null`: not asked for. */
  readonly crowd: Crowd | null;
  readonly holders: readonly {
    readonly registration: Registration;
    readonly featureSlots: readonly FeatureSlot[];
  }[];
  /** All stored slots, of the license and of its features; `null`: not asked for. */
  readonly all: {
    readonly registrations: readonly Registration[];
    readonly featureSlots: readonly FeatureSlot[];
  } | null;
  /** The holder's. */
  readonly featureSlots: readonly FeatureSlot[];
  /** How many slots of the meter's feature have ended beyond `endedFeatureSlots`. */
  readonly featureEndedBeyond: number;
  /** When its next slot ends by itself; `null`: none is held, or it was not asked for. */
  readonly featureNextEndsAt: Instant | null;
  /** Live slots of all features. */
  readonly featureSlotCount: number;
  readonly rememberedAnswer: RememberedAnswer | null;
  /** All reports of the license on their way to the vendor. */
  readonly reports: readonly Report[];
  readonly meters: readonly Meter[];
  /** The user's earlier denials, one per code. */
  readonly denials: readonly Denial[];
  /** Earlier denials from the sender's place, one per code. */
  readonly placeDenials: readonly PlaceDenial[];
  /** Denials whose window is over, at most `COLLECT_LIMIT`. */
  readonly staleDenials: readonly Denial[];
  /** Those of places that have folded denials, or whose window is over. */
  readonly stalePlaceDenials: readonly PlaceDenial[];
  /** How many remembered answers are too old, at most `COLLECT_LIMIT`. */
  readonly staleAnswers: number;
}

/** Which facts a decision needs besides the head and the holder's registration. */
export interface ViewNeeds {
  readonly nextEnd?: boolean;
  /** How many slots are borrowed. */
  readonly borrowed?: boolean;
  /** The holder's borrow that has ended. */
  readonly endedBorrow?: boolean;
  /** The holder's feature slots. */
  readonly featureSlots?: boolean;
  /** How much is held from these addresses. */
  readonly crowd?: AddressRange | null;
  /** The registrations of these users, with their feature slots. */
  readonly holders?: readonly string[];
  /** All slots of the license. They may be very many: only for what removes them all. */
  readonly all?: boolean;
  /** How many slots of the meter's feature have ended beyond the collected ones, and when the next ends. */
  readonly featureSlotsEnd?: boolean;
  readonly featureSlotCount?: boolean;
  readonly answer?: AnswerScope | null;
  readonly reports?: boolean;
  readonly meters?: readonly MeterNeed[];
  readonly denials?: DenialScope | null;
  readonly stale?: StaleNeeds;
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
