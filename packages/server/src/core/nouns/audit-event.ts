import type { ErrorCode } from '@berth/protocol/errors';
import type { Actor } from './actor.ts';
import type { Instant } from './instant.ts';
import type { LicenseId, Verdict } from './license.ts';

/** Events of a license's chain. A renewal is none: it only restarts a timer. */
export type LicenseEvent = LicenseHappening & { readonly by?: Actor | null };

type LicenseHappening =
  | { readonly kind: 'slot_lent'; readonly user: string; readonly hostname: string | null }
  | Denied
  | { readonly kind: 'slot_returned'; readonly user: string; readonly by: Actor | null }
  | { readonly kind: 'slot_expired'; readonly user: string; readonly endedAt: Instant }
  | { readonly kind: 'slot_borrowed'; readonly user: string; readonly borrowedUntil: Instant }
  | {
      readonly kind: 'slot_recalled';
      readonly user: string;
      readonly borrowedUntil: Instant;
      readonly by: Actor;
    }
  /** A wrong clock had ended the borrow, and its reset restored it. `null`: the license's own slot. */
  | {
      readonly kind: 'borrow_restored';
      readonly feature: string | null;
      readonly user: string;
      readonly borrowedUntil: Instant;
      readonly by: Actor;
    }
  | {
      readonly kind: 'borrow_not_restored';
      readonly feature: string | null;
      readonly user: string;
      readonly borrowedUntil: Instant;
      readonly code: ErrorCode;
      readonly by: Actor;
    }
  | { readonly kind: 'all_slots_returned'; readonly count: number; readonly by: Actor }
  /** Denials that were only counted, and that no later denial of the user carries. */
  | (Omit<Denied, 'kind'> & { readonly kind: 'denials_repeated' })
  | {
      readonly kind: 'consumption_added';
      readonly feature: string | null;
      readonly user: string | null;
      readonly count: number;
      readonly total: number;
    }
  | { readonly kind: 'feature_lent'; readonly feature: string; readonly user: string }
  | {
      readonly kind: 'feature_borrowed';
      readonly feature: string;
      readonly user: string;
      readonly borrowedUntil: Instant;
    }
  | { readonly kind: 'feature_returned'; readonly feature: string; readonly user: string }
  | {
      readonly kind: 'feature_expired';
      readonly feature: string;
      readonly user: string;
      readonly endedAt: Instant;
    }
  | { readonly kind: 'all_features_returned'; readonly count: number; readonly by: Actor }
  | {
      readonly kind: 'consumption_reported' | 'report_uncertain' | 'report_withdrawn';
      readonly feature: string | null;
      readonly amount: number;
      readonly reportId: string;
      readonly by: Actor;
    }
  /** The vendor's cloud knows of consumption, or of a reset, that was unknown here. */
  | {
      readonly kind: 'total_corrected';
      readonly feature: string | null;
      readonly before: number;
      readonly total: number;
    }
  | { readonly kind: 'license_added'; readonly product: string; readonly slots: number; readonly by: Actor }
  | {
      readonly kind: 'license_changed';
      readonly changed: readonly string[];
      readonly slots: number;
      /** What the vendor's cloud said if it sent no license. */
      readonly verdict?: Verdict;
      readonly by: Actor;
    }
  /** `inUse`: slots that were held; they end at their own time. */
  | {
      readonly kind: 'license_removed';
      readonly product: string;
      readonly inUse: number;
      readonly by: Actor;
    };

/** A refusal that leaves a trace. */
export interface Denied {
  readonly kind: 'slot_denied' | 'consumption_denied';
  /** Left out for the license itself. */
  readonly feature?: string;
  readonly user: string | null;
  readonly code: ErrorCode;
  /** How often the same denial was only counted since the last such event. */
  readonly repeated: number;
}

/** Events of the system's chain. */
export type SystemEvent =
  | ServerStarted
  | ServerStopped
  | ClockJumped
  | { readonly kind: 'clock_accepted'; readonly from: Instant; readonly to: Instant; readonly by: Actor }
  | { readonly kind: 'clock_reset'; readonly from: Instant; readonly to: Instant; readonly by: Actor }
  /** The server, or a copy of its data, runs on another machine than before. */
  | { readonly kind: 'identity_changed'; readonly before: string; readonly hardwareId: string }
  | {
      readonly kind: 'offline_request_made';
      readonly requestId: string;
      readonly request: 'activation' | 'deactivation';
      readonly product: string | null;
      readonly by: Actor;
    }
  | { readonly kind: 'usage_file_made'; readonly sequence: number; readonly by: Actor }
  | { readonly kind: 'account_created'; readonly account: string; readonly role: string; readonly by: Actor }
  | { readonly kind: 'account_removed'; readonly account: string; readonly by: Actor }
  | {
      readonly kind: 'role_changed';
      readonly account: string;
      readonly before: string;
      readonly role: string;
      readonly by: Actor;
    }
  /** `oneTime`: the server made it up, and it must be replaced. */
  | {
      readonly kind: 'password_changed';
      readonly account: string;
      readonly oneTime: boolean;
      readonly by: Actor;
    }
  | {
      readonly kind: 'token_created';
      readonly tokenId: string;
      readonly name: string;
      readonly role: string;
      readonly expiresAt: Instant | null;
      readonly endsWithSetup?: true;
      readonly by: Actor;
    }
  /** `name`: its own or its account's. */
  | {
      readonly kind: 'token_revoked';
      readonly tokenId: string;
      readonly name: string | null;
      readonly by: Actor;
    }
  | { readonly kind: 'signed_in' | 'sign_in_failed'; readonly account: string; readonly by: Actor }
  | CloudKeysSet
  | { readonly kind: 'master_key_rotated'; readonly from: string; readonly to: string; readonly by: Actor }
  | MasterKeyExported
  /** How many of each kind are denied from now on. */
  | {
      readonly kind: 'rules_changed';
      readonly users: number;
      readonly hosts: number;
      readonly addresses: number;
      readonly digest: string;
      readonly by: Actor;
    }
  | LicenseExpiring
  | TokenExpiring
  | CloudUnreachable
  | CloudReachable
  | CloudHeld
  | CloudReleased
  | HeadsSigned
  | AuditThinned;

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

export type AuditEvent = LicenseEvent | SystemEvent;

/** An event as it is written: `by` is a name, and `origin` the address. */
export type RecordedEvent = (AuditEvent | Unreadable) & { readonly origin?: string };

/** In place of events that were overwritten. */
interface Unreadable {
  readonly kind: 'unreadable';
}

export function recordedEvent(event: AuditEvent): RecordedEvent {
  const by = 'by' in event ? event.by : undefined;
  if (typeof by !== 'object' || by === null) return event;
  return { ...event, by: by.name, origin: by.address } as RecordedEvent;
}
