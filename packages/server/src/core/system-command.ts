import type { Role } from './access/role.ts';
import type { Actor } from './nouns/actor.ts';
import type {
  CloudHeld,
  CloudReachable,
  CloudReleased,
  CloudUnreachable,
  LicenseExpiring,
  MasterKeyExported,
  ServerStarted,
  ServerStopped,
  TokenExpiring,
} from './nouns/audit-event.ts';
import type { AuditPosition } from './nouns/audit-position.ts';
import type { Instant } from './nouns/instant.ts';
import type { LicenseId } from './nouns/license.ts';
import type { Rules } from './rules/rules.ts';

/** Commands that act on the server itself. */
export type SystemCommand =
  | CreateAccount
  | SetPassword
  | SetRole
  | RemoveAccount
  | SignIn
  | UseToken
  | CreateToken
  | RevokeToken
  | RecordEvent
  | OpenRequest
  | NumberUsage
  | BindHardware
  | AcceptClock
  | ResetClock
  | SetCloudKeys
  | RotateMasterKey
  | SetRules
  | Note
  | SetWebhookCursor
  | SignHeads
  | ThinAudit;

export interface CreateAccount {
  readonly kind: 'create_account';
  readonly name: string;
  readonly role: Role;
  readonly passwordHash: string;
  /** The password was made up by the server and has to be replaced. */
  readonly oneTime: boolean;
  readonly by: Actor;
}

export interface SetPassword {
  readonly kind: 'set_password';
  readonly account: string;
  readonly passwordHash: string;
  readonly oneTime: boolean;
  /** What the old password was checked against, where that was asked for. */
  readonly checkedHash?: string | null;
  /** The hash of the token that goes on although the password is another one; `null`: none does. */
  readonly keptToken: string | null;
  readonly by: Actor;
}

export interface SetRole {
  readonly kind: 'set_role';
  readonly account: string;
  readonly role: Role;
  readonly by: Actor;
}

export interface RemoveAccount {
  readonly kind: 'remove_account';
  readonly account: string;
  readonly by: Actor;
}

/** The outcome of a password check, which is too slow to be part of a decision. */
export interface SignIn {
  readonly kind: 'sign_in';
  readonly account: string;
  readonly address: string;
  /** `null`: the password was wrong, or the account does not exist. */
  readonly tokenHash: string | null;
  /** What the password was checked against: another one may have taken its place meanwhile. */
  readonly checkedHash: string | null;
  /** In a browser, which is signed out after half a day. */
  readonly isBrowser?: boolean;
}

/** A token was used: it stays valid for its whole time again. */
export interface UseToken {
  readonly kind: 'use_token';
  readonly tokenHash: string;
}

/** `socket`: that they may read the data folder. `nothing`: they are on the machine during setup. */
export type Shown = 'socket' | 'credentials' | 'nothing';

/** A token of its own, for a program. */
export interface CreateToken {
  readonly kind: 'create_token';
  readonly tokenHash: string;
  readonly name: string;
  readonly role: Role;
  /** How long it counts; `null`: until it is revoked. */
  readonly days: number | null;
  /** What the caller has shown; left out: they came over the socket in the data folder. */
  readonly shown?: Shown;
  readonly by: Actor;
}

export interface RevokeToken {
  readonly kind: 'revoke_token';
  /** Its id, or its name. */
  readonly tokenId: string;
  readonly by: Actor;
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
  /** The administrator chose it; the server would not make it from its own data. */
  readonly isChosen?: boolean;
}

/** Follow a wall clock that has jumped ahead. */
export interface AcceptClock {
  readonly kind: 'accept_clock';
  readonly by: Actor;
}

/** Go back to the wall clock after a wrong one has driven the server's time ahead. */
export interface ResetClock {
  readonly kind: 'reset_clock';
  /** `careful` where it is left out. */
  readonly mode?: ResetMode;
  readonly by: Actor;
}

/**
 * What if a wrong clock ended borrows that cannot be restored? `careful` refuses and names them, `forced`
 * goes ahead, `trial` changes nothing and tells what would happen.
 */
export type ResetMode = 'careful' | 'forced' | 'trial';

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

/** The administrator's rules are other ones from now on. */
export interface SetRules {
  readonly kind: 'set_rules';
  readonly rules: Rules;
  /** Tells one version of the rules from another. */
  readonly digest: string;
  readonly by: Actor;
}

/** Something that is remembered, and that an administrator should hear of once. */
export interface Note {
  readonly kind: 'note';
  readonly notice:
    | LicenseExpiring
    | TokenExpiring
    | CloudUnreachable
    | Omit<CloudReachable, 'failingAt'>
    | CloudHeld
    | CloudReleased;
}

/** Everything up to this event was delivered to the webhook, or is none of its business. */
export interface SetWebhookCursor {
  readonly kind: 'set_webhook_cursor';
  readonly position: AuditPosition;
  /** Only where there never was a webhook: somebody may have begun to deliver meanwhile. */
  readonly isFirst?: boolean;
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
