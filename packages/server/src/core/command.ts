import type { Actor } from './nouns/actor.ts';
import type { Narrowing } from './nouns/consumption.ts';
import type { Instant } from './nouns/instant.ts';
import type { License, LicenseId, Verdict } from './nouns/license.ts';
import type { HostInfo } from './nouns/registration.ts';
import type { SystemCommand } from './system-command.ts';

/**
 * All that can be asked of the store. Plain data, so it can cross to another thread, wait in a batch, be
 * repeated.
 */
export type Command = LicenseCommand | SystemCommand;

/** Commands that act on one license. The store serialises them per license. */
export type LicenseCommand =
  | Register
  | Borrow
  | Unregister
  | Release
  | Recall
  | ReleaseFrom
  | ReleaseAll
  | Collect
  | InstallLicense
  | RemoveLicense
  | ApplyVerdict
  | AddConsumption
  | RegisterFeature
  | ReleaseFeature
  | ReleaseAllFeatures
  | CutReport
  | SettleReport
  | ResolveReport;

/** Which license is meant. Nothing given means: the one product that the server holds. */
export interface Target {
  readonly product: string | null;
  readonly licenseId: LicenseId | null;
}

/** What clients ask for. Who asks is only left out where nobody wants to know. */
interface Asked {
  readonly by?: Actor;
  /** How the user was spelled, where the store knows them by another name; see `user-name.ts`. */
  readonly spelling?: string;
}

/** Requests that take a slot, or give it back. */
interface Holding extends Asked {
  /**
   * What the caller has shown, where clients have to: a name for it, nothing secret. A slot that was taken
   * with one is given back with the same one, or by a request without: those come from operators.
   */
  readonly credential?: string;
}

/** How much of one license requests from one place may hold; 0 is without a limit. */
export interface AddressLimits {
  readonly slots: number;
  readonly borrows: number;
}

/** Servers that share a database may be set up differently, so every request brings its own limits. */
interface Limited {
  readonly perAddress?: AddressLimits;
}

/** Lend a slot, or renew the one the user holds. */
export interface Register extends Target, Holding, Limited {
  readonly kind: 'register';
  readonly user: string;
  readonly host: HostInfo;
}

/** An instant, the longest that the license allows, or a text that is no date. */
export type BorrowUntil = Instant | 'longest' | 'unreadable';

/** Register, and hold the slot until an instant, heartbeats or not. */
export interface Borrow extends Target, Holding, Limited {
  readonly kind: 'borrow';
  readonly user: string;
  readonly host: HostInfo;
  readonly until: BorrowUntil;
}

/** The user gives the slot back, borrowed or not. */
export interface Unregister extends Target, Holding {
  readonly kind: 'unregister';
  readonly user: string;
}

/** An administrator takes a slot back that is not borrowed. */
export interface Release extends Target {
  readonly kind: 'release';
  readonly user: string;
  readonly by: Actor;
}

/** An administrator takes a borrowed slot back before its time. */
export interface Recall extends Target {
  readonly kind: 'recall';
  readonly user: string;
  readonly by: Actor;
}

/**
 * An operator takes back the slots of these users, borrowed ones included, as far as their last request came
 * from the address or range. The list is bounded by whoever makes it.
 */
export interface ReleaseFrom {
  readonly kind: 'release_from';
  readonly licenseId: LicenseId;
  readonly users: readonly string[];
  readonly address: string;
  readonly by: Actor;
}

/** An administrator takes back all slots of a license, borrowed ones included. */
export interface ReleaseAll {
  readonly kind: 'release_all';
  readonly licenseId: LicenseId;
  readonly by: Actor;
}

/** Housekeeping: removes what has ended. Changes nothing that any decision could notice. */
export interface Collect {
  readonly kind: 'collect';
  readonly licenseId: LicenseId;
}

/** Adds a license, or changes one that is there. */
export interface InstallLicense {
  readonly kind: 'install_license';
  readonly license: License;
  /** What the vendor's cloud has counted; left out where the license did not come from there. */
  readonly counted?: CloudCounts;
  /** The file that it came in; left out where it came otherwise. */
  readonly file?: FileFacts;
  readonly by: Actor;
}

/** What was found in and about a file. Whether to believe it is decided in `judge-file.ts`. */
export interface FileFacts {
  readonly kind: 'offline' | 'airgap';
  /** The vendor's signature covers all of it, or was waived. */
  readonly isSigned: boolean;
  /** The hardware id that it names; `null` for a policy, which names none. */
  readonly boundTo: string | null;
  /** The request that it answers; `null` for a refresh, and for a policy. */
  readonly requestId: string | null;
  readonly issuedAt: Instant;
  /** For a policy: the confirmation code is right for this server, the key and the policy id. */
  readonly isConfirmed: boolean;
  readonly licenseKey: string | null;
  readonly policyId: string | null;
  /** Tells confirmation codes apart, however they are written. */
  readonly confirmationId: string | null;
}

/** The totals of a license at the vendor's cloud. */
export interface CloudCounts {
  /** When the cloud was asked: a total belongs to the window of that moment. */
  readonly askedAt: Instant;
  readonly total: number;
  readonly features: readonly { readonly code: string; readonly total: number }[];
  /** They count even where they are lower than before: they are certainly not old. */
  readonly takesLower: boolean;
  /** The administrator who takes lower ones all the same. */
  readonly acceptedBy?: Actor;
}

/** The server gives a license up. What was lent and counted is kept, should it be added again. */
export interface RemoveLicense {
  readonly kind: 'remove_license';
  readonly licenseId: LicenseId;
  /** It is given back to the vendor: the files and codes that brought it here are worth nothing any more. */
  readonly isGivenBack?: boolean;
  readonly by: Actor;
}

/** The vendor's cloud refuses a license that the server holds. */
export interface ApplyVerdict {
  readonly kind: 'apply_verdict';
  readonly licenseId: LicenseId;
  readonly verdict: Verdict;
  /**
   * `bound`: it answers this server's request. `license`: it carries the license's own signature. `none`: it
   * may be old, or about another license, and counts when the next check says the same.
   */
  readonly proof: 'bound' | 'license' | 'none';
}

/** Adds to a total, of the license or of one of its features. A count of 0 only asks. */
export interface AddConsumption extends Target, Asked {
  readonly kind: 'add_consumption';
  /** `null`: the license itself. */
  readonly feature: string | null;
  /** Often somebody who never registered, and often nobody. */
  readonly user: string | null;
  readonly count: number;
  readonly narrowing: Narrowing;
  readonly idempotency: IdempotencyKey | null;
}

/** A name that the caller gave to a request, so that repeating it counts once. */
export interface IdempotencyKey {
  readonly key: string;
  /** Tells requests apart that carry the same key. */
  readonly bodyHash: string;
}

/** Lends a slot of a floating feature to a user who holds the license's slot, or renews it. */
export interface RegisterFeature extends Target, Asked {
  readonly kind: 'register_feature';
  readonly feature: string;
  readonly user: string;
  /** What the rules look at; the slot is the user's. */
  readonly host?: HostInfo;
  /** `null`: a heartbeat, not a borrow. */
  readonly until: BorrowUntil | null;
}

export interface ReleaseFeature extends Target, Holding {
  readonly kind: 'release_feature';
  readonly feature: string;
  readonly user: string;
}

/** An administrator takes back all feature slots of a license. */
export interface ReleaseAllFeatures {
  readonly kind: 'release_all_features';
  readonly licenseId: LicenseId;
  readonly by: Actor;
}

/** Takes what is pending out of a meter, to be told to the vendor under an id. */
export interface CutReport {
  readonly kind: 'cut_report';
  readonly licenseId: LicenseId;
  /** `null`: the license itself. */
  readonly feature: string | null;
  readonly reportId: string;
}

/** The vendor has counted a report, or certainly has not. */
export interface SettleReport {
  readonly kind: 'settle_report';
  readonly licenseId: LicenseId;
  /** `null`: the license itself. */
  readonly feature: string | null;
  readonly reportId: string;
  readonly isCounted: boolean;
  /** The vendor's total with it; `null` where it was not told. */
  readonly cloudTotal: number | null;
  /** It certainly is about this report; otherwise only a total that can hold the report settles it. */
  readonly isSure: boolean;
  /** It repeats the id of the report: the vendor has counted something under it, and does so once. */
  readonly isEchoed?: boolean;
  /** The total counts even where it is lower than it should be. */
  readonly takesLower: boolean;
  readonly by: Actor;
}

/** Nobody heard whether the vendor has counted a report; its total may tell. */
export interface ResolveReport {
  readonly kind: 'resolve_report';
  readonly licenseId: LicenseId;
  /** `null`: the license itself. */
  readonly feature: string | null;
  readonly reportId: string;
  /** `null`: nothing tells any more, and the report is held. */
  readonly cloudTotal: number | null;
  /** The total counts even where it is lower than before. */
  readonly takesLower: boolean;
}
