import type { MasterKeyExported, ServerStarted, ServerStopped } from './audit-event.ts';
import type { Narrowing } from './consumption.ts';
import type { Instant } from './instant.ts';
import type { License, LicenseId } from './license.ts';
import type { HostInfo } from './registration.ts';

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

/** Commands that act on the server itself. */
export type SystemCommand =
  | CreateAccount
  | SignIn
  | UseToken
  | RecordEvent
  | OpenRequest
  | NumberUsage
  | BindHardware
  | AcceptClock
  | ResetClock
  | SetCloudKeys
  | RotateMasterKey
  | SignHeads
  | ThinAudit;

/** Which license is meant. Nothing given means: the one product that the server holds. */
export interface Target {
  readonly product: string | null;
  readonly licenseId: LicenseId | null;
}

/** Who asked: one of Berth's own names, or a caller by name with the address that they came from. */
export type Actor = string | Visitor;

export interface Visitor {
  readonly name: string;
  readonly address: string;
}

/** What clients ask for. Who asks is only left out where nobody wants to know. */
interface Asked {
  readonly by?: Actor;
}

/** Lend a slot, or renew the one the user holds. */
export interface Register extends Target, Asked {
  readonly kind: 'register';
  readonly user: string;
  readonly host: HostInfo;
}

/** An instant, the longest that the license allows, or a text that is no date. */
export type BorrowUntil = Instant | 'longest' | 'unreadable';

/** Register, and hold the slot until an instant, heartbeats or not. */
export interface Borrow extends Target, Asked {
  readonly kind: 'borrow';
  readonly user: string;
  readonly host: HostInfo;
  readonly until: BorrowUntil;
}

/** The user gives the slot back, borrowed or not. */
export interface Unregister extends Target, Asked {
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
}

/** The server gives a license up. What was lent and counted is kept, should it be added again. */
export interface RemoveLicense {
  readonly kind: 'remove_license';
  readonly licenseId: LicenseId;
  /** It is given back to the vendor: the files and codes that brought it here are worth nothing any more. */
  readonly isGivenBack?: boolean;
  readonly by: Actor;
}

/** What the vendor's cloud can say about a license without sending it. */
export type Verdict =
  | 'license_not_enabled'
  | 'license_not_active'
  | 'license_expired'
  | 'blacklisted'
  | 'device_not_found'
  | 'license_not_found';

/** The vendor's cloud refuses a license that the server holds. */
export interface ApplyVerdict {
  readonly kind: 'apply_verdict';
  readonly licenseId: LicenseId;
  readonly verdict: Verdict;
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
  /** `null`: a heartbeat, not a borrow. */
  readonly until: BorrowUntil | null;
}

export interface ReleaseFeature extends Target, Asked {
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
}

export interface CreateAccount {
  readonly kind: 'create_account';
  readonly name: string;
  readonly role: 'admin';
  readonly passwordHash: string;
  /** The password was made up by the server and has to be replaced. */
  readonly oneTime: boolean;
  readonly by: Actor;
}

/** The outcome of a password check, which is too slow to be part of a decision. */
export interface SignIn {
  readonly kind: 'sign_in';
  readonly account: string;
  readonly address: string;
  /** `null`: the password was wrong, or the account does not exist. */
  readonly tokenHash: string | null;
}

/** A token was used: it stays valid for its whole time again. */
export interface UseToken {
  readonly kind: 'use_token';
  readonly tokenHash: string;
}

/** Something happened that changes nothing in the store. */
export interface RecordEvent {
  readonly kind: 'record_event';
  readonly event: ServerStarted | ServerStopped | MasterKeyExported;
}

/** The server asks the vendor for something, in a file. */
export interface OpenRequest {
  readonly kind: 'open_request';
  readonly requestId: string;
  readonly request: 'activation' | 'deactivation';
  readonly product: string | null;
  readonly by: Actor;
}

/** A file with what was consumed is made. */
export interface NumberUsage {
  readonly kind: 'number_usage';
  readonly by: Actor;
}

/** The hardware id of the machine that the server finds itself on. */
export interface BindHardware {
  readonly kind: 'bind_hardware';
  readonly hardwareId: string;
}

/** Follow a wall clock that has jumped ahead. */
export interface AcceptClock {
  readonly kind: 'accept_clock';
  readonly by: Actor;
}

/** Go back to the wall clock after a wrong one has driven the server's time ahead. */
export interface ResetClock {
  readonly kind: 'reset_clock';
  readonly by: Actor;
}

/** Keeps the keys that the vendor gave for the licensing cloud. `null`: that one stays as it is. */
export interface SetCloudKeys extends CloudKeys {
  readonly kind: 'set_cloud_keys';
  /** What the audit tells about them. */
  readonly fingerprints: CloudKeys;
  readonly by: Actor;
}

export interface CloudKeys {
  readonly apiKey: string | null;
  readonly sharedKey: string | null;
}

/** Seals every secret in the store with another master key. */
export interface RotateMasterKey {
  readonly kind: 'rotate_master_key';
  readonly newKey: Uint8Array;
  readonly newFingerprint: string;
  readonly by: Actor;
}

/** Signs the newest link of every chain, unless nothing has happened since they were last signed. */
export interface SignHeads {
  readonly kind: 'sign_heads';
}

/** Puts totals in the place of old links. One command takes a bounded number of them. */
export interface ThinAudit {
  readonly kind: 'thin_audit';
  readonly before: Instant;
  /** One license's chain, `'system'`, or all of them. */
  readonly chain: LicenseId | 'system' | null;
  readonly by: Actor;
}
