import type {
  CreateAccount,
  CreateToken,
  RemoveAccount,
  RemoveSecondFactor,
  RevokeToken,
  SetPassword,
  SetRole,
  SetSecondFactor,
  SignIn,
  SignInPerson,
  UseToken,
} from './access-command.ts';
import type { Channel } from './notify/channel.ts';
import type { Actor } from './nouns/actor.ts';
import type { NoticeEvent, SystemEventOf } from './nouns/audit-event.ts';
import type { AuditPosition, Follower } from './nouns/audit-position.ts';
import type { Bar } from './nouns/bar.ts';
import type { Instant } from './nouns/instant.ts';
import type { License, LicenseId } from './nouns/license.ts';
import type { SettingValue } from './nouns/stored-setting.ts';
import type { GroupAnswer } from './rules/directory-groups.ts';
import type { RuleSet } from './rules/rule-set.ts';

/** Commands that act on the server itself. */
export type SystemCommand =
  | CreateAccount
  | SetPassword
  | SetRole
  | RemoveAccount
  | SetSecondFactor
  | RemoveSecondFactor
  | SignIn
  | SignInPerson
  | UseToken
  | CreateToken
  | RevokeToken
  | RecordEvent
  | OpenRequest
  | NumberUsage
  | BindHardware
  | AcceptClock
  | ResetClock
  | StartTestClock
  | AdvanceTestClock
  | SetCloudKeys
  | SetWebhookSecret
  | PutChannel
  | RemoveChannel
  | RotateMasterKey
  | RotateGrantKey
  | SetRules
  | RefreshGroups
  | SampleReservations
  | AddBar
  | RemoveBar
  | ChangeSettings
  | Note
  | RestoreBackup
  | SetCursor
  | SignHeads
  | ThinAudit
  | ForgetUser;

/** Records an event that changes nothing else in the store. */
export interface RecordEvent {
  readonly kind: 'record_event';
  readonly event: SystemEventOf<'server_started' | 'server_stopped' | 'master_key_exported'>;
}

/** Makes a request for the vendor: a file, or codes across an air gap. */
export interface OpenRequest {
  readonly kind: 'open_request';
  readonly requestId: string;
  readonly request: 'activation' | 'deactivation' | 'airgap';
  readonly product: string | null;
  /** `null`: any license of the vendor answers it. */
  readonly licenseKey: string | null;
  readonly by: Actor;
}

/** Makes a usage file, which reports what was consumed. */
export interface NumberUsage {
  readonly kind: 'number_usage';
  readonly by: Actor;
}

/** Records the hardware id of the machine that the server runs on. */
export interface BindHardware {
  readonly kind: 'bind_hardware';
  readonly hardwareId: string;
  /** The administrator chose it; the server would have made another. */
  readonly isChosen?: boolean;
}

/** Follows a wall clock that has jumped ahead. */
export interface AcceptClock {
  readonly kind: 'accept_clock';
  readonly by: Actor;
}

/** Goes back to the wall clock after a wrong one has driven the server's time ahead. */
export interface ResetClock {
  readonly kind: 'reset_clock';
  /** `careful` by default. */
  readonly mode?: ResetMode;
  readonly by: Actor;
}

/**
 * What to do if a wrong clock ended borrows that cannot be restored: `careful` refuses and names them,
 * `forced` goes ahead, `trial` changes nothing and reports what would happen.
 */
export type ResetMode = 'careful' | 'forced' | 'trial';

/** Makes this a store for tests, for ever: it takes no real license, and an administrator lets time pass. */
export interface StartTestClock {
  readonly kind: 'start_test_clock';
}

/** Lets time pass in a store for tests. */
export interface AdvanceTestClock {
  readonly kind: 'advance_test_clock';
  readonly millis: number;
}

/** Sets the vendor's keys for the licensing cloud. `null` leaves a key as it is. */
export interface SetCloudKeys extends CloudKeys {
  readonly kind: 'set_cloud_keys';
  /** For the audit log. */
  readonly fingerprints: CloudKeys;
  readonly by: Actor;
}

export interface CloudKeys {
  readonly apiKey: string | null;
  readonly sharedKey: string | null;
}

/** Replaces the secret that signs events for the webhook. */
export interface SetWebhookSecret {
  readonly kind: 'set_webhook_secret';
  readonly secret: string;
  /** For the audit log. */
  readonly fingerprint: string;
  readonly by: Actor;
}

/** Adds a channel for messages to administrators, or replaces the one with its name. */
export interface PutChannel {
  readonly kind: 'put_channel';
  readonly channel: Channel;
  /** Where it goes on in the log, unless it is further, and what it remembers; as it was if left out. */
  readonly start?: Pick<SetCursor, 'position'> & { readonly memory: string };
  readonly by: Actor;
}

export interface RemoveChannel {
  readonly kind: 'remove_channel';
  readonly name: string;
  readonly by: Actor;
}

/** Seals every secret in the store with another master key. */
export interface RotateMasterKey {
  readonly kind: 'rotate_master_key';
  readonly newKey: Uint8Array;
  readonly newFingerprint: string;
  readonly by: Actor;
}

/** Makes this the key that signs grants. Earlier ones stay until every grant of theirs has ended. */
export interface RotateGrantKey {
  readonly kind: 'rotate_grant_key';
  readonly kid: string;
  /** PKCS #8 in base64. */
  readonly privateKey: string;
  /** Has no effect if there is a key already: another server may have made the first one. */
  readonly isFirst?: boolean;
  readonly by: Actor;
}

/** Adds a bar to those in the rules file. */
export interface AddBar {
  readonly kind: 'add_bar';
  readonly bar: Bar;
  readonly by: Actor;
}

export interface RemoveBar {
  readonly kind: 'remove_bar';
  readonly bar: Pick<Bar, 'kind' | 'pattern'>;
  readonly by: Actor;
}

/** Puts rules in force, as a new revision unless they are in force already. */
export interface SetRules {
  readonly kind: 'set_rules';
  /** As written. */
  readonly text: string;
  readonly rules: RuleSet;
  /** The revision that was edited: if another text is in force, nothing changes. Left out: any. */
  readonly basedOn?: number;
  readonly by: Actor;
}

/** What the directory says about groups of the rules. */
export interface RefreshGroups {
  readonly kind: 'refresh_groups';
  /** The revision that named them. */
  readonly basedOn: number;
  readonly answers: readonly GroupAnswer[];
}

/** How much of what is reserved was kept free, in the minute that has passed. */
export interface SampleReservations {
  readonly kind: 'sample_reservations';
  readonly samples: readonly ReservationSample[];
}

/** A reservation that applies. */
export interface ReservationSample {
  readonly product: string;
  /** Empty for slots of the product. */
  readonly feature: string;
  /** In a few words, as refusals name it. */
  readonly rule: string;
  readonly reserved: number;
  readonly unused: number;
}

/** Changes settings that running servers apply at once. */
export interface ChangeSettings {
  readonly kind: 'change_settings';
  readonly changes: readonly SettingChange[];
  readonly by: Actor;
}

export interface SettingChange {
  readonly name: string;
  /** `null`: no longer stored, so the default applies. */
  readonly value: SettingValue | null;
  /** The part of the value that may be shown. */
  readonly shown: SettingValue | null;
}

/** A notice for the administrator, recorded once. */
export interface Note {
  readonly kind: 'note';
  readonly notice:
    | Exclude<NoticeEvent, { kind: 'cloud_reachable' }>
    | Omit<SystemEventOf<'cloud_reachable'>, 'failingAt'>;
}

/**
 * This data comes from a backup. Licenses from a cloud must be checked there before they count again. Those
 * that were given back since are marked so, and must be removed.
 */
export interface RestoreBackup {
  readonly kind: 'restore_backup';
  readonly event: SystemEventOf<'backup_restored'>;
  /** As the data that it replaces has them. */
  readonly givenBack: readonly License[];
}

/** Everything up to this event was delivered to a follower, or does not concern it. */
export interface SetCursor {
  readonly kind: 'set_cursor';
  readonly follower: Follower;
  readonly position: AuditPosition;
  /**
   * What a channel has to remember besides, as JSON; it may change at the same position. It has no effect
   * without a cursor: the channel was removed meanwhile.
   */
  readonly memory?: string;
  /** Has no effect if there is a cursor already: another server may have begun to deliver. */
  readonly isFirst?: boolean;
}

/** Signs the newest link of every chain, unless nothing was written since the last time. */
export interface SignHeads {
  readonly kind: 'sign_heads';
}

/** Replaces old links by totals, a bounded number of them per command. */
export interface ThinAudit {
  readonly kind: 'thin_audit';
  readonly before: Instant;
  /** One license's chain, `'system'`, or all of them. */
  readonly chain: LicenseId | 'system' | null;
  /** What is younger stays. */
  readonly keptMs?: number;
  readonly by: Actor;
}

/** Removes a user's name, hosts and addresses from the history. */
export interface ForgetUser {
  readonly kind: 'forget_user';
  readonly user: string;
  readonly by: Actor;
}
