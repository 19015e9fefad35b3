import type { ErrorCode } from '@berth/protocol/errors';
import type { Actor } from './actor.ts';
import type { BarKind, BarSource } from './bar.ts';
import type { Instant } from './instant.ts';
import type { LicenseId, Verdict } from './license.ts';
import type { SettingValue } from './stored-setting.ts';

/** Events of a license's chain. A renewal is none: it only restarts a timer. */
export type LicenseEvent = LicenseEventFacts & { readonly by?: Actor | null };

type LicenseEventFacts = Readonly<
  | { kind: 'slot_lent'; user: string; hostname: string | null }
  /** No `hostname`: the request names none. */
  | (Denied & { kind: 'slot_denied'; hostname?: string })
  | (Denied & { kind: 'consumption_denied' })
  /** `programs`: how many of the user's programs had not left, if it was more than one. */
  | { kind: 'slot_returned'; user: string; by: Actor | null; programs?: number }
  | { kind: 'slot_expired'; user: string; endedAt: Instant; programs?: number }
  | { kind: 'slot_borrowed'; user: string; borrowedUntil: Instant }
  | { kind: 'slot_recalled'; user: string; borrowedUntil: Instant; by: Actor; programs?: number }
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
  | (Omit<Denied, 'kind' | 'barred' | 'barredBy' | 'rule'> & { kind: 'denials_repeated' })
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
  /** The vendor's cloud answers for another license. `stopsLending`: it did so for too long. */
  | { kind: 'license_doubted'; otherId: LicenseId; stopsLending: boolean; by: Actor }
  /** The vendor has certified the key that signs grants of the license. */
  | { kind: 'certificate_added'; kid: string; issuedAt: Instant; expiresAt: Instant; by: Actor }
  /**
   * `inUse`: slots that were held; they end at their own time. `replacedBy`: the license that has taken its
   * place, and all slots.
   */
  | { kind: 'license_removed'; product: string; inUse: number; replacedBy?: LicenseId; by: Actor }
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
  /** The rule that refused, in a few words. */
  readonly rule?: string;
  /** How often the same denial was only counted since the last such event. */
  readonly repeated: number;
}

/** Events of the system's chain. */
export type SystemEvent = Readonly<
  /** `settings`: those that differ from the defaults. */
  | {
      kind: 'server_started';
      version: string;
      settings?: Readonly<Record<string, SettingValue>>;
    }
  | { kind: 'server_stopped'; version: string }
  /** By their names; `null`: the default applies again. */
  | { kind: 'settings_changed'; settings: Readonly<Record<string, SettingValue | null>>; by: Actor }
  | ClockJumped
  | { kind: 'clock_accepted'; from: Instant; to: Instant; by: Actor }
  | { kind: 'clock_reset'; from: Instant; to: Instant; by: Actor }
  | { kind: 'test_clock_started' }
  /** The server, or a copy of its data, runs on another machine than before. */
  | { kind: 'identity_changed'; before: string; hardwareId: string }
  | {
      kind: 'offline_request_made';
      requestId: string;
      request: 'activation' | 'deactivation' | 'airgap';
      product: string | null;
      by: Actor;
    }
  | { kind: 'usage_file_made'; sequence: number; by: Actor }
  /** `products`: only of an operator who is limited to them. */
  | { kind: 'account_created'; account: string; role: string; products?: readonly string[]; by: Actor }
  | { kind: 'account_removed'; account: string; by: Actor }
  | {
      kind: 'role_changed';
      account: string;
      before: string;
      role: string;
      products?: readonly string[];
      by: Actor;
    }
  /** `oneTime`: the server made it up, and it must be replaced. `recoveryCodesLeft`: if one was used. */
  | { kind: 'password_changed'; account: string; oneTime: boolean; recoveryCodesLeft?: number; by: Actor }
  | {
      kind: 'token_created';
      tokenId: string;
      name: string;
      role: string;
      products?: readonly string[];
      expiresAt: Instant | null;
      endsWithSetup?: true;
      by: Actor;
    }
  /** `name`: its own or its account's. */
  | { kind: 'token_revoked'; tokenId: string; name: string | null; by: Actor }
  | { kind: 'second_factor_set'; account: string; by: Actor }
  | { kind: 'second_factor_removed'; account: string; by: Actor }
  /** The password was right. */
  | { kind: 'second_factor_asked'; account: string; by: Actor }
  /**
   * `role` and `subject`: of somebody whom a provider has identified, and who that is for it.
   * `recoveryCodesLeft`: if one was used. `confirms`: somebody who had signed in did so again, for this
   * operation.
   */
  | {
      kind: 'signed_in';
      account: string;
      confirms?: string;
      role?: string;
      products?: readonly string[];
      subject?: string;
      recoveryCodesLeft?: number;
      by: Actor;
    }
  /** `reason`: a wrong name or password has none. */
  | { kind: 'sign_in_failed'; account: string; confirms?: string; reason?: string; by: Actor }
  /** With the fingerprints of the keys that were set. */
  | {
      kind: 'cloud_keys_set';
      changed: readonly CloudKeyName[];
      apiKeyFingerprint: string | null;
      sharedKeyFingerprint: string | null;
      by: Actor;
    }
  | { kind: 'webhook_secret_set'; fingerprint: string; by: Actor }
  /** A channel was added or changed. `changed`: which of its facts; none if it is new. */
  | { kind: 'channel_set'; channel: string; target: string; changed: readonly string[]; by: Actor }
  | { kind: 'channel_removed'; channel: string; by: Actor }
  | { kind: 'master_key_rotated'; from: string; to: string; by: Actor }
  /** The first one is made like the store's own keys, without an event. */
  | { kind: 'grant_key_rotated'; kid: string; replaced: string; by: Actor }
  | { kind: 'master_key_exported'; fingerprint: string; by: Actor }
  /** How many of each kind are denied from now on. */
  /** `diff`: changed lines, each after "+" or "-". */
  | { kind: 'rules_changed'; revision: number; diff: readonly string[]; by: Actor }
  /** The directory has other members of a group of the rules. */
  | {
      kind: 'group_changed';
      revision: number;
      group: string;
      joined: readonly string[];
      left: readonly string[];
      by: Actor;
    }
  | { kind: 'bar_added'; barred: BarKind; pattern: string; note: string | null; by: Actor }
  | { kind: 'bar_removed'; barred: BarKind; pattern: string; by: Actor }
  | NoticeEvent
  /**
   * All data was replaced by that of a backup of the version `madeBy`. What happened between the two times is
   * not in the log. `replacedAt`: the latest time in the replaced data; `null`: none could be read.
   */
  | { kind: 'backup_restored'; madeAt: Instant; madeBy: string; replacedAt: Instant | null; by: Actor }
  | HeadsSigned
  /** Old links were replaced by totals: up to which link of each chain, and how many links went this time. */
  | {
      kind: 'audit_thinned';
      before: string;
      thinned: readonly (readonly [chain: number, upTo: number, links: number])[];
      by: Actor;
    }
  /** A user's name was removed from the history, and does not appear here either. */
  | { kind: 'user_forgotten'; records: number; by: Actor }
>;

/** An event of the system's chain with this kind. */
export type SystemEventOf<K extends SystemEvent['kind']> = Extract<SystemEvent, { kind: K }>;

/** What an administrator should know, recorded once by `note.ts`. No `feature`: the license itself. */
export type NoticeEvent = Readonly<
  /** The term of a license is about to end. */
  | { kind: 'license_expiring'; licenseId: LicenseId; product: string; validUntil: Instant }
  /** An API token is about to end. */
  | { kind: 'token_expiring'; tokenId: string; name: string | null; expiresAt: Instant }
  /** The link to the licensing cloud has been failing since `failingAt`. */
  | { kind: 'cloud_unreachable'; failingAt: Instant; code: string; reason: string | null }
  /** An outage that was reported is over. `reason`: because there is no cloud any more. */
  | { kind: 'cloud_reachable'; reason?: 'not_configured'; failingAt: Instant }
  /** The disk of a data folder is filling up, or has room again. Several servers may share a database. */
  | {
      kind: 'disk_space_low' | 'disk_space_recovered';
      hostname: string;
      folder: string;
      freeMegabytes: number;
    }
  /** The TLS certificate of a server is about to end, or has ended. */
  | { kind: 'certificate_expiring'; hostname: string; fingerprint: string; validUntil: Instant }
  | CertificateDoubt
  | CertificateRight
  /** Most slots of a license, or of one of its features, are in use; or no longer. */
  | {
      kind: 'license_nearly_full' | 'license_has_room';
      licenseId: LicenseId;
      product: string;
      feature: string | null;
      inUse: number;
      slots: number;
    }
  /** Most of what may be consumed of a license, or of one of its features, is used up; or no longer. */
  | {
      kind: 'consumption_nearly_used_up' | 'consumption_has_room';
      licenseId: LicenseId;
      product: string;
      feature: string | null;
      total: number;
      max: number;
    }
  /** The licensing cloud has bound an answer to its request. From now on it must bind all of them. */
  | { kind: 'cloud_held_to_nonces'; fingerprint: string }
  /** An administrator accepts unbound answers of this cloud again. */
  | { kind: 'cloud_released_from_nonces'; fingerprint: string; by: Actor }
  /** All data was copied, `withKey` with the master key under a passphrase. `file`: `null` if it was sent. */
  | { kind: 'backup_made'; file: string | null; bytes: number; withKey: boolean; by: Actor }
  /** The scheduled backup failed; recorded once until one succeeds. */
  | { kind: 'backup_failed'; reason: string }
  /** A whole period went by without the scheduled backup; recorded once until one succeeds. */
  | { kind: 'backup_overdue'; dueAt: Instant }
  /** The directory has not told who is in these groups since `answeredAt`; recorded once until it does. */
  | { kind: 'groups_outdated'; groups: readonly string[]; answeredAt: Instant; reason: string }
  | { kind: 'groups_up_to_date' }
>;

export type CloudKeyName = 'api_key' | 'shared_key';

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

/** The vendor has certified another key for a license, or no longer certifies one. */
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

export type AuditEvent = LicenseEvent | SystemEvent;

/** An event as it is written: `by` is a name, and `origin` the address. */
export type RecordedEvent = (AuditEvent | Unreadable) & { readonly origin?: string };

/** In place of events that were overwritten. */
interface Unreadable {
  readonly kind: 'unreadable';
}
