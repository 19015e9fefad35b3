import type { ErrorCode } from '@berth/protocol/errors';
import type { Actor } from './actor.ts';
import type { BarKind, BarSource } from './bar.ts';
import type { Instant } from './instant.ts';
import type { LicenseId, Verdict } from './license.ts';

/** Events of a license's chain. A renewal is none: it only restarts a timer. */
export type LicenseEvent = LicenseHappening & { readonly by?: Actor | null };

type LicenseHappening = Readonly<
  | { kind: 'slot_lent'; user: string; hostname: string | null }
  | Denied
  | { kind: 'slot_returned'; user: string; by: Actor | null }
  | { kind: 'slot_expired'; user: string; endedAt: Instant }
  | { kind: 'slot_borrowed'; user: string; borrowedUntil: Instant }
  | { kind: 'slot_recalled'; user: string; borrowedUntil: Instant; by: Actor }
  /** A wrong clock had ended the borrow, and its reset restored it. `null`: the license's own slot. */
  | { kind: 'borrow_restored'; feature: string | null; user: string; borrowedUntil: Instant; by: Actor }
  | {
      kind: 'borrow_not_restored';
      feature: string | null;
      user: string;
      borrowedUntil: Instant;
      code: ErrorCode;
      by: Actor;
    }
  | { kind: 'all_slots_returned'; count: number; by: Actor }
  /** Denials that were only counted, and that no later denial of the user carries. */
  | (Omit<Denied, 'kind' | 'barred' | 'barredBy'> & { kind: 'denials_repeated' })
  | { kind: 'consumption_added'; feature: string | null; user: string | null; count: number; total: number }
  | { kind: 'feature_lent'; feature: string; user: string }
  | { kind: 'feature_borrowed'; feature: string; user: string; borrowedUntil: Instant }
  | { kind: 'feature_returned'; feature: string; user: string }
  | { kind: 'feature_expired'; feature: string; user: string; endedAt: Instant }
  | { kind: 'all_features_returned'; count: number; by: Actor }
  | {
      kind: 'consumption_reported' | 'report_uncertain' | 'report_withdrawn';
      feature: string | null;
      amount: number;
      reportId: string;
      by: Actor;
    }
  /** The vendor's cloud knows of consumption, or of a reset, that was unknown here. */
  | { kind: 'total_corrected'; feature: string | null; before: number; total: number }
  | { kind: 'license_added'; product: string; slots: number; by: Actor }
  | {
      kind: 'license_changed';
      changed: readonly string[];
      slots: number;
      /** What the vendor's cloud said if it sent no license. */
      verdict?: Verdict;
      by: Actor;
    }
  /** The vendor has certified the key that signs grants of the license. */
  | { kind: 'certificate_added'; kid: string; issuedAt: Instant; expiresAt: Instant; by: Actor }
  /** `inUse`: slots that were held; they end at their own time. */
  | { kind: 'license_removed'; product: string; inUse: number; by: Actor }
>;

/** A refusal that leaves a trace. */
export interface Denied {
  readonly kind: 'slot_denied' | 'consumption_denied';
  /** Left out for the license itself. */
  readonly feature?: string;
  readonly user: string | null;
  readonly code: ErrorCode;
  /** What the server's own rules bar, and where: in the rules file, or by a command. */
  readonly barred?: BarKind;
  readonly barredBy?: BarSource;
  /** How often the same denial was only counted since the last such event. */
  readonly repeated: number;
}

/** Events of the system's chain. */
export type SystemEvent = Readonly<
  | ServerStarted
  | ServerStopped
  | ClockJumped
  | { kind: 'clock_accepted'; from: Instant; to: Instant; by: Actor }
  | { kind: 'clock_reset'; from: Instant; to: Instant; by: Actor }
  /** The server, or a copy of its data, runs on another machine than before. */
  | { kind: 'identity_changed'; before: string; hardwareId: string }
  | {
      kind: 'offline_request_made';
      requestId: string;
      request: 'activation' | 'deactivation';
      product: string | null;
      by: Actor;
    }
  | { kind: 'usage_file_made'; sequence: number; by: Actor }
  | { kind: 'account_created'; account: string; role: string; by: Actor }
  | { kind: 'account_removed'; account: string; by: Actor }
  | { kind: 'role_changed'; account: string; before: string; role: string; by: Actor }
  /** `oneTime`: the server made it up, and it must be replaced. */
  | { kind: 'password_changed'; account: string; oneTime: boolean; by: Actor }
  | {
      kind: 'token_created';
      tokenId: string;
      name: string;
      role: string;
      expiresAt: Instant | null;
      endsWithSetup?: true;
      by: Actor;
    }
  /** `name`: its own or its account's. */
  | { kind: 'token_revoked'; tokenId: string; name: string | null; by: Actor }
  | { kind: 'signed_in' | 'sign_in_failed'; account: string; by: Actor }
  | CloudKeysSet
  | { kind: 'master_key_rotated'; from: string; to: string; by: Actor }
  /** The first one is made like the store's own keys, without an event. */
  | { kind: 'grant_key_rotated'; kid: string; replaced: string; by: Actor }
  | MasterKeyExported
  /** How many of each kind are denied from now on. */
  | { kind: 'rules_changed'; users: number; hosts: number; addresses: number; digest: string; by: Actor }
  | { kind: 'bar_added'; barred: BarKind; pattern: string; note: string | null; by: Actor }
  | { kind: 'bar_removed'; barred: BarKind; pattern: string; by: Actor }
  | LicenseExpiring
  | TokenExpiring
  | CloudUnreachable
  | CloudReachable
  | DiskSpaceNotice
  | CertificateExpiring
  | CertificateDoubt
  | CertificateRight
  | SlotsNotice
  | ConsumptionNotice
  | CloudHeld
  | CloudReleased
  | BackupMade
  | BackupFailed
  | BackupOverdue
  | BackupRestored
  | HeadsSigned
  | AuditThinned
  /** A user's name was removed from the history. It is not told here either. */
  | { kind: 'user_forgotten'; records: number; by: Actor }
>;

export interface ServerStarted {
  readonly kind: 'server_started';
  readonly version: string;
  /** The settings that differ from the defaults. */
  readonly settings?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

export interface ServerStopped {
  readonly kind: 'server_stopped';
  readonly version: string;
}

/** Tells the fingerprints of the keys that were set. */
interface CloudKeysSet {
  readonly kind: 'cloud_keys_set';
  readonly changed: readonly CloudKeyName[];
  readonly apiKeyFingerprint: string | null;
  readonly sharedKeyFingerprint: string | null;
  readonly by: Actor;
}

export type CloudKeyName = 'api_key' | 'shared_key';

export interface MasterKeyExported {
  readonly kind: 'master_key_exported';
  readonly fingerprint: string;
  readonly by: Actor;
}

/** The heads of all chains before this commit, signed with the server's identity key. */
export interface HeadsSigned {
  readonly kind: 'heads_signed';
  /** How many links were ever written. */
  readonly links: number;
  /** The license's id or 0 for the system, the number of the newest link, and its MAC in hex. */
  readonly heads: readonly (readonly [chain: number, n: number, mac: string])[];
  /** Of what is signed; the server's log has it too. */
  readonly digest: string;
  readonly signature: string;
}

/** Old links were replaced by totals. */
interface AuditThinned {
  readonly kind: 'audit_thinned';
  readonly before: string;
  /** Up to which link each chain is thinned out now, and how many of its links went this time. */
  readonly thinned: readonly (readonly [chain: number, upTo: number, links: number])[];
  readonly by: Actor;
}

/** The wall clock and the server's time differ. */
export interface ClockJumped {
  readonly kind: 'clock_jumped';
  readonly direction: 'ahead' | 'behind';
  /** The two times when it was noticed. */
  readonly serverAt: Instant;
  readonly wallAt: Instant;
  /** Whether the server follows the wall clock. */
  readonly followed: boolean;
}

/** The term of a license is about to end. */
export interface LicenseExpiring {
  readonly kind: 'license_expiring';
  readonly licenseId: LicenseId;
  readonly product: string;
  readonly validUntil: Instant;
}

/** An API token is about to end. */
export interface TokenExpiring {
  readonly kind: 'token_expiring';
  readonly tokenId: string;
  readonly name: string | null;
  readonly expiresAt: Instant;
}

/** The link to the licensing cloud has been failing for a while. */
export interface CloudUnreachable {
  readonly kind: 'cloud_unreachable';
  /** Since when. */
  readonly failingAt: Instant;
  readonly code: string;
  readonly reason: string | null;
}

/** An outage that was reported is over. */
export interface CloudReachable {
  readonly kind: 'cloud_reachable';
  /** Set if it ended because there is no cloud any more. */
  readonly reason?: 'not_configured';
  /** Since when the link had been failing. */
  readonly failingAt: Instant;
}

/** The disk of a server's data folder is filling up, or has room again. */
export interface DiskSpaceNotice {
  readonly kind: 'disk_space_low' | 'disk_space_recovered';
  /** The server: several of them may share a database. */
  readonly hostname: string;
  readonly folder: string;
  readonly freeMegabytes: number;
}

/** The TLS certificate of a server is about to end, or has ended. */
export interface CertificateExpiring {
  readonly kind: 'certificate_expiring';
  readonly hostname: string;
  readonly fingerprint: string;
  readonly validUntil: Instant;
}

/** The vendor has certified a key of somebody else for a license; or none, where there was a certificate. */
export interface CertificateDoubt {
  readonly kind: 'certificate_wrong' | 'certificate_missing';
  readonly licenseId: LicenseId;
  readonly product: string;
  /** Names the key that was certified; `null`: none was. */
  readonly kid: string | null;
}

/** The vendor has certified the key of this server again. */
export interface CertificateRight {
  readonly kind: 'certificate_right';
  readonly licenseId: LicenseId;
  readonly product: string;
  readonly kid: string;
  /** What is over now. */
  readonly after: CertificateDoubt['kind'];
}

/** Most slots of a license, or of one of its features, are in use; or no longer. */
export interface SlotsNotice {
  readonly kind: 'license_nearly_full' | 'license_has_room';
  readonly licenseId: LicenseId;
  readonly product: string;
  /** `null`: the license itself. */
  readonly feature: string | null;
  readonly inUse: number;
  readonly slots: number;
}

/** Most of what may be consumed of a license, or of one of its features, is used up; or no longer. */
export interface ConsumptionNotice {
  readonly kind: 'consumption_nearly_used_up' | 'consumption_has_room';
  readonly licenseId: LicenseId;
  readonly product: string;
  /** `null`: the license itself. */
  readonly feature: string | null;
  readonly total: number;
  readonly max: number;
}

/** The licensing cloud has bound an answer to its request. From now on it must bind all of them. */
export interface CloudHeld {
  readonly kind: 'cloud_held_to_nonces';
  /** Of the key that it signs with. */
  readonly fingerprint: string;
}

/** An administrator accepts unbound answers of this cloud again. */
export interface CloudReleased {
  readonly kind: 'cloud_released_from_nonces';
  readonly fingerprint: string;
  readonly by: Actor;
}

/** All data was copied. */
export interface BackupMade {
  readonly kind: 'backup_made';
  /** `null`: it was sent to the caller. */
  readonly file: string | null;
  readonly bytes: number;
  /** Whether it contains the master key, under a passphrase. */
  readonly withKey: boolean;
  readonly by: Actor;
}

/** The scheduled backup failed; told once until one succeeds. */
export interface BackupFailed {
  readonly kind: 'backup_failed';
  readonly reason: string;
}

/** A whole period went by without the scheduled backup; told once until one succeeds. */
export interface BackupOverdue {
  readonly kind: 'backup_overdue';
  readonly dueAt: Instant;
}

/** All data was replaced by that of a backup. What happened between the two times is not in the log. */
export interface BackupRestored {
  readonly kind: 'backup_restored';
  readonly madeAt: Instant;
  /** The version that made it. */
  readonly madeBy: string;
  /** The latest time in the data that was replaced; `null`: there was none that could be read. */
  readonly replacedAt: Instant | null;
  readonly by: Actor;
}

export type AuditEvent = LicenseEvent | SystemEvent;

/** An event as it is written: `by` is a name, and `origin` the address. */
export type RecordedEvent = (AuditEvent | Unreadable) & { readonly origin?: string };

/** In place of events that were overwritten. */
interface Unreadable {
  readonly kind: 'unreadable';
}
