import type { HistoryStep } from './history/thinning.ts';
import type { Actor } from './nouns/actor.ts';
import type { Narrowing } from './nouns/consumption.ts';
import type { Instant } from './nouns/instant.ts';
import type { Certificate, License, LicenseId, Verdict } from './nouns/license.ts';
import type { HostInfo } from './nouns/registration.ts';
import type { SystemCommand } from './system-command.ts';

/** Every change to the store. Plain data, so it can cross to another thread, wait in a batch, be retried. */
export type Command = LicenseCommand | LineCommand | SystemCommand;

/** Commands on one license, which the store carries out one after the other. */
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
  | CertifyLicense
  | DoubtLicense
  | AddConsumption
  | RegisterFeature
  | ReleaseFeature
  | ReleaseAllFeatures
  | CutReport
  | SettleReport
  | ResolveReport
  | ThinHistory;

/** Commands on those who wait for a slot of a product. */
export type LineCommand = HandOn | LeaveLine;

/** Which license is meant. If both are `null`: the only product on the server. */
export interface Target {
  readonly product: string | null;
  readonly licenseId: LicenseId | null;
}

/** A request of a client. `by` is left out where it does not matter. */
interface Asked {
  readonly by?: Actor;
  /** Only what would be answered is wanted: nothing is stored or recorded. */
  readonly isDryRun?: true;
  /** How the user was spelled, if the store uses another name; see `user-name.ts`. */
  readonly spelling?: string;
}

/** A request that takes a slot or gives it back. */
interface Holding extends Asked {
  /**
   * Names the credentials that the client has shown, where it must; it is no secret. A slot that was taken
   * with credentials is given back with the same ones, or by an operator, whose requests carry none.
   */
  readonly credential?: string;
  /** The program of the user that asks; left out: it has no name. See `Programs`. */
  readonly instance?: string;
}

/** How many new slots and borrows a place gets in an hour, and how long it has to wait for more. */
interface SpentLimit {
  readonly limit: number;
  readonly retryAfterSeconds: number;
}

interface Taking extends Target, Holding {
  readonly user: string;
  readonly host: HostInfo;
  /** The place has taken all the new slots that it gets for now; left out: it has not. */
  readonly spent?: SpentLimit;
}

/**
 * What a request does if no slot is free. `stay`: it waits in line. `last`: its wait is over, and it is
 * answered now. `repeat`: it is answered now, and its user is kept a place until they ask again.
 */
export interface Wait {
  readonly mode: 'stay' | 'last' | 'repeat';
  /** How long the user waits from now on, or is kept a place. */
  readonly forMs: number;
  /** The connection has waited already: if it is gone before it is answered, the slot comes back. */
  readonly hasWaited?: true;
}

/** Lends a slot, or renews the one that the user holds. */
export interface Register extends Taking {
  readonly kind: 'register';
  readonly wait?: Wait;
}

/** An instant, as long as the license allows, or a text that is not a date. */
export type BorrowUntil = Instant | 'longest' | 'unreadable';

/** Lends a slot until an instant, with or without heartbeats. */
export interface Borrow extends Taking {
  readonly kind: 'borrow';
  readonly until: BorrowUntil;
}

/** The user gives the slot back, borrowed or not. */
export interface Unregister extends Target, Holding {
  readonly kind: 'unregister';
  readonly user: string;
}

/** An administrator takes back a slot that is not borrowed. */
export interface Release extends Target {
  readonly kind: 'release';
  readonly user: string;
  readonly by: Actor;
}

/** An administrator takes back a borrowed slot early. */
export interface Recall extends Target {
  readonly kind: 'recall';
  readonly user: string;
  readonly by: Actor;
}

/**
 * An operator takes back the slots of these users, borrowed or not, if their last request came from the
 * address or range. The sender bounds the list.
 */
export interface ReleaseFrom {
  readonly kind: 'release_from';
  readonly licenseId: LicenseId;
  readonly users: readonly string[];
  readonly address: string;
  readonly by: Actor;
}

/** An administrator takes back all slots of a license, borrowed or not. */
export interface ReleaseAll {
  readonly kind: 'release_all';
  readonly licenseId: LicenseId;
  readonly by: Actor;
}

/** Housekeeping: removes what has ended. No decision notices the difference. */
export interface Collect {
  readonly kind: 'collect';
  readonly licenseId: LicenseId;
}

/** Adds a license, or updates one that the server has. */
export interface InstallLicense {
  readonly kind: 'install_license';
  readonly license: License;
  /** What the vendor's cloud has counted, if the license came from there. */
  readonly counted?: CloudCounts;
  /** The file that it came in, if any. */
  readonly file?: FileFacts;
  /** It takes the place, and the slots, of the same license under other ids. */
  readonly replacesSame?: true;
  readonly by: Actor;
}

/** What a file says, and what was found out about it. `judge-file.ts` decides whether to believe it. */
export interface FileFacts {
  readonly kind: 'offline' | 'airgap';
  /** The vendor's signature covers all of it, or was waived. */
  readonly isSigned: boolean;
  /** The hardware id in it; `null` for a policy, which has none. */
  readonly boundTo: string | null;
  /** The request that it answers; `null` for a refresh, and for a policy. */
  readonly requestId: string | null;
  readonly issuedAt: Instant;
  /** For a policy: the confirmation code is right for this server, the key and the policy id. */
  readonly isConfirmed: boolean;
  readonly licenseKey: string | null;
  readonly policyId: string | null;
  /** Identifies the confirmation code, however it is written. */
  readonly confirmationId: string | null;
}

/** The totals of a license at the vendor's cloud. */
export interface CloudCounts {
  /** When the cloud was asked: a total belongs to the window of that moment. */
  readonly askedAt: Instant;
  readonly total: number;
  readonly features: readonly { readonly code: string; readonly total: number }[];
  /** They are certainly not old, so they count even if they are lower than before. */
  readonly takesLower: boolean;
  /** The administrator who accepts lower ones anyway. */
  readonly acceptedBy?: Actor;
}

/** Removes a license. What was lent and counted is kept in case it is added again. */
export interface RemoveLicense {
  readonly kind: 'remove_license';
  readonly licenseId: LicenseId;
  /** It is given back to the vendor: the files and codes that brought it here are no longer valid. */
  readonly isGivenBack?: boolean;
  readonly by: Actor;
}

/** The vendor has certified the key that signs grants of the license. */
export interface CertifyLicense {
  readonly kind: 'certify_license';
  readonly licenseId: LicenseId;
  readonly certificate: Certificate;
  readonly by: Actor;
}

/** The vendor's cloud refuses a license that the server holds. */
export interface ApplyVerdict {
  readonly kind: 'apply_verdict';
  readonly licenseId: LicenseId;
  readonly verdict: Verdict;
  /**
   * `bound`: it answers this server's request. `license`: it carries the license's own signature. `none`: it
   * may be old, or about another license, so it counts only if the next check says the same.
   */
  readonly proof: 'bound' | 'license' | 'none';
}

/** The vendor's cloud certainly answered for another license when it was asked about this one. */
export interface DoubtLicense {
  readonly kind: 'doubt_license';
  readonly licenseId: LicenseId;
  readonly otherId: LicenseId;
  readonly by: Actor;
}

/** Adds to the total of the license or of a feature. A count of 0 only reads it. */
export interface AddConsumption extends Target, Asked {
  readonly kind: 'add_consumption';
  /** `null`: the license itself. */
  readonly feature: string | null;
  /** Need not be registered; `null`: the request named no user. */
  readonly user: string | null;
  readonly count: number;
  readonly narrowing: Narrowing;
  readonly idempotency: IdempotencyKey | null;
}

/** The caller's name for a request, so that a retry is not counted twice. */
export interface IdempotencyKey {
  readonly key: string;
  /** Tells different requests with the same key apart: a version of what is hashed, `:`, and the hash. */
  readonly bodyHash: string;
}

/** Lends a slot of a floating feature to a user who holds the license's slot, or renews it. */
export interface RegisterFeature extends Target, Asked {
  readonly kind: 'register_feature';
  readonly feature: string;
  readonly user: string;
  /** Only for the rules: the slot belongs to the user. */
  readonly host?: HostInfo;
  /** `null`: a heartbeat, not a borrow. */
  readonly until: BorrowUntil | null;
  readonly spent?: SpentLimit;
  readonly instance?: string;
  readonly wait?: Wait;
}

/** Serves those who wait, as far as there are slots. It is sent when a slot has ended by itself. */
export interface HandOn {
  readonly kind: 'hand_on';
  readonly product: string;
}

/** The last connection on which a user waited is gone. A slot that was lent to them unseen is returned. */
export interface LeaveLine {
  readonly kind: 'leave_line';
  readonly product: string;
  /** Empty for the license itself. */
  readonly feature: string;
  readonly user: string;
  /** Connections that had waited were answered with a slot of this license, and all of them are gone. */
  readonly unseen?: LicenseId;
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

export interface AboutReport {
  readonly licenseId: LicenseId;
  /** `null`: the license itself. */
  readonly feature: string | null;
  readonly reportId: string;
}

/** Takes what is pending out of a meter, to be reported to the vendor under an id. */
export interface CutReport extends AboutReport {
  readonly kind: 'cut_report';
}

/** The vendor has counted a report, or certainly has not. */
export interface SettleReport extends AboutReport {
  readonly kind: 'settle_report';
  readonly isCounted: boolean;
  /** The vendor's total including it; `null`: unknown. */
  readonly cloudTotal: number | null;
  /** It certainly is about this report. If not, only a total that can include the report settles it. */
  readonly isSure: boolean;
  /** The answer repeats the report's id: the cloud counted that id once, perhaps with another amount. */
  readonly isEchoed?: boolean;
  /** The total counts even if it is lower than expected. */
  readonly takesLower: boolean;
  readonly by: Actor;
}

/** It is unknown whether the vendor has counted a report; its total may tell. */
export interface ResolveReport extends AboutReport {
  readonly kind: 'resolve_report';
  /** `null`: the outcome can no longer be found out, and the report becomes uncertain. */
  readonly cloudTotal: number | null;
  /** The total counts even if it is lower than before. */
  readonly takesLower: boolean;
}

/** Housekeeping: makes a part of the history coarser, or forgets it. */
export interface ThinHistory {
  readonly kind: 'thin_history';
  readonly licenseId: LicenseId;
  readonly step: HistoryStep;
}
