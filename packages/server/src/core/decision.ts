import type { Role } from './access/role.ts';
import type { Token } from './access/token.ts';
import type { HeadsSigned, LicenseEvent, SystemEvent } from './nouns/audit-event.ts';
import type { AuditPosition } from './nouns/audit-position.ts';
import type { AuditSegment } from './nouns/audit-segment.ts';
import type { Meter } from './nouns/consumption.ts';
import type { EndedBorrow, LostBorrow, NamedBorrow } from './nouns/ended-borrow.ts';
import type { FeatureSlot } from './nouns/feature-slot.ts';
import type { Instant } from './nouns/instant.ts';
import type { License, LicenseId } from './nouns/license.ts';
import type { NoticeKey } from './nouns/notice-key.ts';
import type { Registration } from './nouns/registration.ts';
import type { ClockReset, Done, Outcome, Refused } from './outcome.ts';
import type { Rules } from './rules/rules.ts';
import type { Denial, PlaceDenial, RememberedAnswer, Report } from './view.ts';

/** What the store writes, in this order, in the same commit as the events. */
export type Change =
  | { readonly kind: 'put_registration'; readonly registration: Registration }
  /** Only its end changes, as with most heartbeats. */
  | { readonly kind: 'renew_registration'; readonly user: string; readonly endsAt: Instant }
  | { readonly kind: 'remove_registration'; readonly user: string }
  | { readonly kind: 'remove_live_registrations' }
  | { readonly kind: 'set_in_use'; readonly inUse: number }
  | { readonly kind: 'keep_borrow'; readonly borrow: EndedBorrow }
  /** Only the latest ended borrows are kept. */
  | { readonly kind: 'trim_borrows'; readonly kept: number }
  /** `null`: of the license and of all features. */
  | { readonly kind: 'forget_borrow'; readonly user: string; readonly feature: string | null }
  | { readonly kind: 'forget_all_borrows' }
  | { readonly kind: 'put_license'; readonly license: License }
  | { readonly kind: 'remove_license' }
  /** Open requests for this product, or for none, can no longer be answered. */
  | { readonly kind: 'void_requests'; readonly product: string }
  /** This license answered the request. */
  | { readonly kind: 'answer_request'; readonly requestId: string }
  /** No slot is held beyond this instant. */
  | { readonly kind: 'end_registrations_by'; readonly endsBy: Instant }
  | { readonly kind: 'put_denial'; readonly denial: Denial }
  | { readonly kind: 'remove_denial'; readonly denial: Denial }
  | { readonly kind: 'put_place_denial'; readonly denial: PlaceDenial }
  | { readonly kind: 'remove_place_denial'; readonly denial: PlaceDenial }
  /** The store counts a feature's rows itself: one more, one less. */
  | { readonly kind: 'put_feature_slot'; readonly slot: FeatureSlot; readonly isNew: boolean }
  | { readonly kind: 'remove_feature_slot'; readonly feature: string; readonly user: string }
  | { readonly kind: 'remove_all_feature_slots' }
  /** No slot of the feature is held beyond this instant. */
  | { readonly kind: 'end_feature_slots_by'; readonly feature: string; readonly endsBy: Instant }
  /** What was counted; the feature's slots stay as they are. */
  | { readonly kind: 'put_meter'; readonly meter: Omit<Meter, 'storedInUse'> }
  /** `isNew`: nothing is stored under its key, not even an answer that is too old. */
  | { readonly kind: 'remember_answer'; readonly answer: RememberedAnswer; readonly isNew: boolean }
  | { readonly kind: 'remove_answers'; readonly answeredBy: Instant }
  | { readonly kind: 'add_report'; readonly report: Report }
  | { readonly kind: 'mark_report_uncertain'; readonly reportId: string }
  | { readonly kind: 'remove_report'; readonly reportId: string };

export type SystemChange =
  | {
      readonly kind: 'put_account';
      readonly name: string;
      readonly role: Role;
      readonly passwordHash: string;
      readonly oneTime: boolean;
    }
  | {
      readonly kind: 'put_password';
      readonly name: string;
      readonly passwordHash: string;
      readonly oneTime: boolean;
    }
  | { readonly kind: 'put_role'; readonly name: string; readonly role: Role }
  | { readonly kind: 'remove_account'; readonly name: string }
  /** From now on, being on the machine makes nobody an administrator. */
  | { readonly kind: 'end_setup' }
  | { readonly kind: 'remove_setup_tokens'; readonly except: string | null }
  /** Somebody has signed in with the one-time password. */
  | { readonly kind: 'use_one_time_password'; readonly name: string }
  /** A token that could only replace the password can do everything now. */
  | { readonly kind: 'free_token'; readonly tokenHash: string }
  /** A token of an account has its account's role. */
  | {
      readonly kind: 'put_token';
      readonly tokenHash: string;
      readonly token: Omit<Token, 'role'> & { readonly role: Role | null };
    }
  | { readonly kind: 'touch_token'; readonly tokenHash: string }
  | { readonly kind: 'remove_token'; readonly tokenId: string }
  | { readonly kind: 'remove_tokens_of'; readonly account: string; readonly except: string | null }
  | { readonly kind: 'remove_dead_tokens'; readonly authUsedBy: Instant; readonly sessionIssuedBy: Instant }
  /** The store seals it before it writes it. */
  | { readonly kind: 'put_secret'; readonly name: SecretName; readonly secret: string }
  | { readonly kind: 'reseal_secrets'; readonly newKey: Uint8Array }
  | {
      readonly kind: 'add_request';
      readonly requestId: string;
      readonly request: 'activation' | 'deactivation';
      readonly product: string | null;
    }
  | { readonly kind: 'set_usage_sequence'; readonly sequence: number }
  | { readonly kind: 'put_rules'; readonly rules: Rules }
  | { readonly kind: 'put_notice'; readonly key: NoticeKey; readonly value: number }
  | { readonly kind: 'remove_notice'; readonly key: NoticeKey }
  | { readonly kind: 'set_webhook_cursor'; readonly position: AuditPosition };

/** Changes that reach beyond the server's own rows: to all licenses, to the log, to the time. */
export type WideChange =
  | { readonly kind: 'set_hardware_id'; readonly hardwareId: string }
  /** The license stays the same; only how it is tied to this server has changed. */
  | { readonly kind: 'put_tie'; readonly license: License }
  | { readonly kind: 'sign_heads'; readonly heads: HeadsSigned['heads'] }
  /** Takes the place of the links that it sums up. */
  | { readonly kind: 'put_segment'; readonly segment: AuditSegment }
  | { readonly kind: 'move_clock'; readonly to: Instant }
  /** Slots that were live then get a whole timeout: nobody could send a heartbeat since. */
  | { readonly kind: 'prolong_live'; readonly since: Instant }
  | { readonly kind: 'restore_borrows'; readonly restoration: Restoration }
  /** Nothing happened later than now: the clock went back from this instant. */
  | { readonly kind: 'pull_back'; readonly from: Instant };

/** Which of a license's ended borrows come back, and which do not. */
export interface Restoration {
  readonly licenseId: LicenseId;
  readonly restored: readonly NamedBorrow[];
  readonly lost: readonly LostBorrow[];
  readonly changes: readonly Change[];
  readonly events: readonly LicenseEvent[];
}

/** Under which name a secret is kept. */
type SecretName = 'cloud_api_key' | 'cloud_shared_key';

export interface Decision {
  readonly outcome: Outcome;
  readonly changes: readonly Change[];
  readonly events: readonly LicenseEvent[];
}

export interface SystemDecision {
  readonly outcome: Done | ClockReset | Refused;
  readonly changes: readonly (SystemChange | WideChange)[];
  readonly events: readonly SystemEvent[];
}

/** Decides that the server stays as it is. */
export function unchanged(outcome: SystemDecision['outcome'] = { kind: 'done', count: 0 }): SystemDecision {
  return { outcome, changes: [], events: [] };
}
