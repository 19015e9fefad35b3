import type { ProductLimit, Role } from './access/role.ts';
import type { SecondFactor } from './access/second-factor.ts';
import type { Token } from './access/token.ts';
import type { HistoryStep } from './history/thinning.ts';
import type { UsageEvent } from './history/usage-event.ts';
import type { HeadsSigned, LicenseEvent, SystemEvent } from './nouns/audit-event.ts';
import type { AuditPosition, Follower } from './nouns/audit-position.ts';
import type { AuditSegment } from './nouns/audit-segment.ts';
import type { Bar } from './nouns/bar.ts';
import type { Meter } from './nouns/consumption.ts';
import type { EndedBorrow, LostBorrow, NamedBorrow } from './nouns/ended-borrow.ts';
import type { FeatureSlot } from './nouns/feature-slot.ts';
import type { Instant } from './nouns/instant.ts';
import type { License, LicenseId } from './nouns/license.ts';
import type { NoticeKey } from './nouns/notice-key.ts';
import type { Registration } from './nouns/registration.ts';
import type { SettingValue } from './nouns/stored-setting.ts';
import type { ClockReset, Done, Outcome, Refused } from './outcome.ts';
import type { GroupAge, WrittenRules } from './rules/directory-groups.ts';
import type { RuleSet } from './rules/rule-set.ts';
import type { OpenRequest, ReservationSample } from './system-command.ts';
import type { Denial, PlaceDenial, RememberedAnswer, Report } from './view.ts';

/** What the store writes, in this order, in the same commit as the events. */
export type Change = Readonly<
  /** `before`: what it replaces. */
  | { kind: 'put_registration'; registration: Registration; before: Registration | null }
  /** Only its end changes, as with most heartbeats. */
  | { kind: 'renew_registration'; user: string; endsAt: Instant }
  | { kind: 'remove_registration'; registration: Registration }
  | { kind: 'remove_live_registrations' }
  | { kind: 'set_in_use'; inUse: number }
  | { kind: 'keep_borrow'; borrow: EndedBorrow }
  /** Only the latest ended borrows are kept. */
  | { kind: 'trim_borrows'; kept: number }
  /** `null`: of the license and of all features. */
  | { kind: 'forget_borrow'; user: string; feature: string | null }
  | { kind: 'forget_all_borrows' }
  | { kind: 'put_license'; license: License }
  | { kind: 'remove_license' }
  /** Open requests for this product, or for none, can no longer be answered. */
  | { kind: 'void_requests'; product: string }
  /** This license answered the request. */
  | { kind: 'answer_request'; requestId: string }
  /** No slot is held beyond this instant. */
  | { kind: 'end_registrations_by'; endsBy: Instant }
  | { kind: 'put_denial'; denial: Denial }
  | { kind: 'remove_denial'; denial: Denial }
  | { kind: 'put_place_denial'; denial: PlaceDenial }
  | { kind: 'remove_place_denial'; denial: PlaceDenial }
  /** The store counts a feature's rows itself: one more, one less. */
  | { kind: 'put_feature_slot'; slot: FeatureSlot; isNew: boolean }
  | { kind: 'remove_feature_slot'; feature: string; user: string }
  | { kind: 'remove_all_feature_slots' }
  /** No slot of the feature is held beyond this instant. */
  | { kind: 'end_feature_slots_by'; feature: string; endsBy: Instant }
  /** What was counted; the feature's slots stay as they are. */
  | { kind: 'put_meter'; meter: Omit<Meter, 'storedInUse'> }
  /** `isNew`: nothing is stored under its key, not even an answer that is too old. */
  | { kind: 'remember_answer'; answer: RememberedAnswer; isNew: boolean }
  | { kind: 'remove_answers'; answeredBy: Instant }
  | { kind: 'add_report'; report: Report }
  | { kind: 'mark_report_uncertain'; reportId: string }
  | { kind: 'remove_report'; reportId: string }
  | { kind: 'thin_history'; step: HistoryStep }
>;

export type SystemChange = Readonly<
  | {
      kind: 'put_account';
      name: string;
      role: Role;
      products: ProductLimit;
      passwordHash: string;
      oneTime: boolean;
    }
  | { kind: 'put_password'; name: string; passwordHash: string; oneTime: boolean }
  | { kind: 'put_role'; name: string; role: Role; products: ProductLimit }
  | { kind: 'remove_account'; name: string }
  /** Its secret is put apart. */
  | { kind: 'put_second_factor'; name: string; secondFactor: SecondFactor }
  | { kind: 'remove_second_factor'; name: string }
  /** Local callers are no longer administrators. */
  | { kind: 'end_setup' }
  | { kind: 'remove_setup_tokens'; except: string | null }
  /** The one-time password was used for a sign-in. */
  | { kind: 'use_one_time_password'; name: string }
  /** A token that could only replace the password can do everything now. */
  | { kind: 'free_token'; tokenHash: string }
  /** A token of an account has its account's role. */
  | { kind: 'put_token'; tokenHash: string; token: Omit<Token, 'role'> & { readonly role: Role | null } }
  | { kind: 'touch_token'; tokenHash: string }
  | { kind: 'remove_token'; tokenId: string }
  | { kind: 'remove_tokens_of'; account: string; except: string | null }
  | { kind: 'remove_dead_tokens'; authUsedBy: Instant; sessionIssuedBy: Instant }
  | { kind: 'forget_attempts'; usedBy: Instant }
  /** The store seals it before it writes it. */
  | { kind: 'put_secret'; name: SecretName; secret: string }
  | { kind: 'reseal_secrets'; newKey: Uint8Array }
  | ({ kind: 'add_request' } & Pick<OpenRequest, 'requestId' | 'request' | 'product' | 'licenseKey'>)
  | { kind: 'set_usage_sequence'; sequence: number }
  | ({ kind: 'put_rules'; rules: RuleSet; revision: number; by: string } & WrittenRules)
  | { kind: 'put_group_ages'; revision: number; ages: readonly GroupAge[] }
  | { kind: 'add_reservation_samples'; samples: readonly ReservationSample[] }
  | { kind: 'put_bar'; bar: Bar; by: string }
  | { kind: 'remove_bar'; bar: Bar }
  /** `null`: the value is kept as a secret. */
  | { kind: 'put_setting'; name: string; value: SettingValue | null; by: string }
  | { kind: 'remove_setting'; name: string }
  | { kind: 'put_notice'; key: NoticeKey; value: number }
  | { kind: 'remove_notice'; key: NoticeKey }
  | { kind: 'set_cursor'; follower: Follower; position: AuditPosition; memory: string | null }
  | { kind: 'remove_cursor'; follower: Follower }
  | { kind: 'set_hardware_id'; hardwareId: string }
  /** The license stays the same; only how it is tied to this server has changed. */
  | { kind: 'put_tie'; license: License }
  | { kind: 'sign_heads'; heads: HeadsSigned['heads'] }
  /** Takes the place of the links that it sums up. */
  | { kind: 'put_segment'; segment: AuditSegment }
  | { kind: 'move_clock'; to: Instant }
  | { kind: 'set_test_clock'; aheadMs: number }
  /** Slots that were live then get a whole timeout: no heartbeat could arrive since. */
  | { kind: 'extend_live'; since: Instant }
  | { kind: 'restore_borrows'; restoration: Restoration }
  /** Times later than now become now: the clock went back from this instant. */
  | { kind: 'pull_back'; from: Instant }
  /** Merges this user's history into the anonymous totals. */
  | { kind: 'forget_user'; user: string }
>;

/** Which of a license's ended borrows come back, and which do not. */
export interface Restoration {
  readonly licenseId: LicenseId;
  readonly restored: readonly NamedBorrow[];
  readonly lost: readonly LostBorrow[];
  readonly changes: readonly Change[];
  readonly events: readonly LicenseEvent[];
  readonly history: readonly UsageEvent[];
}

/** Under which name a secret is kept. */
export type SecretName =
  | 'cloud_api_key'
  | 'cloud_shared_key'
  | 'grant_keys'
  | 'webhook_secret'
  | 'channels'
  /** The value of a setting, as JSON. */
  | `setting:${string}`
  /** Of an account. */
  | `second_factor:${string}`;

export interface Decision {
  readonly outcome: Outcome;
  readonly changes: readonly Change[];
  readonly events: readonly LicenseEvent[];
  /** The usage events for the history; left out if there are none. `withHistory` adds them. */
  readonly history?: readonly UsageEvent[];
}

export interface SystemDecision {
  readonly outcome: Done | ClockReset | Refused;
  readonly changes: readonly SystemChange[];
  readonly events: readonly SystemEvent[];
}

/** Decides that the server stays as it is. */
export function unchanged(outcome: SystemDecision['outcome'] = { kind: 'done', count: 0 }): SystemDecision {
  return { outcome, changes: [], events: [] };
}
