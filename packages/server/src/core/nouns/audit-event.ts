import type { ErrorCode } from '@berth/protocol/errors';
import type { Actor } from './actor.ts';
import type { Instant } from './instant.ts';
import type { LicenseId, Verdict } from './license.ts';

/** What is written to a license's chain. Renewals are not: they only move a timer. */
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
  /** A wrong clock had ended the borrow, and its reset brings it back. `null`: the license's own slot. */
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
  /** Denials that were folded into a counter, and that no later denial of the user has carried. */
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
  /** The vendor's cloud knows of consumption, or of a reset, that this server did not. */
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
      /** What the vendor's cloud said, where it sent no license. */
      readonly verdict?: Verdict;
      readonly by: Actor;
    }
  /** `inUse`: slots that were held, and end at their own time. */
  | {
      readonly kind: 'license_removed';
      readonly product: string;
      readonly inUse: number;
      readonly by: Actor;
    };

/** A refusal that leaves a trace. */
export interface Denied {
  readonly kind: 'slot_denied' | 'consumption_denied';
  /** Left out where the license itself is meant. */
  readonly feature?: string;
  readonly user: string | null;
  readonly code: ErrorCode;
  /** How often the same denial was folded into a counter since the last such event. */
  readonly repeated: number;
}

/** What is written to the system's chain. */
export type SystemEvent =
  | ServerStarted
  | ServerStopped
  | ClockJumped
  | { readonly kind: 'clock_accepted'; readonly from: Instant; readonly to: Instant; readonly by: Actor }
  | { readonly kind: 'clock_reset'; readonly from: Instant; readonly to: Instant; readonly by: Actor }
  /** The server runs on another machine than before, or its data does on another server. */
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
  /** `oneTime`: the server made it up, and it has to be replaced. */
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
      /** Only where it is so. */
      readonly endsWithSetup?: true;
      readonly by: Actor;
    }
  /** `name`: its own, or that of its account. */
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
  /** The settings that are not as they are by default. */
  readonly settings?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

export interface ServerStopped {
  readonly kind: 'server_stopped';
  readonly version: string;
}

/** Told by fingerprints, and only of those that were set. */
export interface CloudKeysSet {
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

/** All chains as they stood before this commit, signed with the key that the server shows to others. */
export interface HeadsSigned {
  readonly kind: 'heads_signed';
  /** How many links were ever written. */
  readonly links: number;
  /** The license's id or 0 for the system, the number of the newest link, and its MAC in hex. */
  readonly heads: readonly (readonly [chain: number, n: number, mac: string])[];
  /** Of what is signed: the log of the server tells it too. */
  readonly digest: string;
  readonly signature: string;
}

/** Old links gave way to their totals. */
export interface AuditThinned {
  readonly kind: 'audit_thinned';
  readonly before: string;
  /** Up to which link each chain is thinned out now, and how many of its links have gone with it. */
  readonly thinned: readonly (readonly [chain: number, upTo: number, links: number])[];
  readonly by: Actor;
}

/** The wall clock and the server's time fell apart. */
export interface ClockJumped {
  readonly kind: 'clock_jumped';
  readonly direction: 'ahead' | 'behind';
  /** The server's time and the wall clock's when it was noticed. */
  readonly serverAt: Instant;
  readonly wallAt: Instant;
  /** Whether the server's time is the wall clock's from now on. */
  readonly followed: boolean;
}

/** The term of a license is about to end. */
export interface LicenseExpiring {
  readonly kind: 'license_expiring';
  readonly licenseId: LicenseId;
  readonly product: string;
  readonly validUntil: Instant;
}

/** A token of its own is about to end. */
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

/** An outage that was told of is over. */
export interface CloudReachable {
  readonly kind: 'cloud_reachable';
  /** Only where it has ended in another way than by an answer: there is no cloud any more. */
  readonly reason?: 'not_configured';
  /** Since when the link had been failing. */
  readonly failingAt: Instant;
}

/** The licensing cloud has bound an answer to its request. From now on it has to bind all of them. */
export interface CloudHeld {
  readonly kind: 'cloud_held_to_nonces';
  /** Of the key that it signs with. */
  readonly fingerprint: string;
}

/** An administrator takes answers of this cloud again that are not bound to a request. */
export interface CloudReleased {
  readonly kind: 'cloud_released_from_nonces';
  readonly fingerprint: string;
  readonly by: Actor;
}

export type AuditEvent = LicenseEvent | SystemEvent;

/** An event as it is written: who did it is a name, and where they came from stands beside it. */
export type RecordedEvent = (AuditEvent | Unreadable) & { readonly origin?: string };

/** In the place of events that somebody else has written over. */
export interface Unreadable {
  readonly kind: 'unreadable';
}

export function recordedEvent(event: AuditEvent): RecordedEvent {
  const by = 'by' in event ? event.by : undefined;
  if (typeof by !== 'object' || by === null) return event;
  return { ...event, by: by.name, origin: by.address } as RecordedEvent;
}
