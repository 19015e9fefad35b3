import type { OneTimePassword } from './access/one-time-password.ts';
import type { ProductLimit, Role } from './access/role.ts';
import type { SecondFactor } from './access/second-factor.ts';
import type { Token } from './access/token.ts';
import type { ClockJump } from './clock/clock.ts';
import type { RestoreView } from './clock/decide-restore.ts';
import type { SystemDecision } from './decision.ts';
import type { Channel } from './notify/channel.ts';
import type { HeadsSigned } from './nouns/audit-event.ts';
import type { AuditPosition, Follower } from './nouns/audit-position.ts';
import type { AuditSegment } from './nouns/audit-segment.ts';
import type { GrantKey } from './nouns/grant-key.ts';
import type { Instant } from './nouns/instant.ts';
import type { License } from './nouns/license.ts';
import type { NoticeKey } from './nouns/notice-key.ts';
import type { StoredSetting } from './nouns/stored-setting.ts';
import type { WrittenRules } from './rules/directory-groups.ts';
import type { Rules } from './rules/rules.ts';
import type { SystemCommand, ThinAudit } from './system-command.ts';

/** Everything about one kind of command on the server itself. The table is in `decide-system.ts`. */
export interface SystemModule<C extends SystemCommand> {
  readonly scope: SystemScope;
  /** Which facts the decision needs, besides those that are always there. */
  needs(command: C): SystemNeeds;
  /** Pure. A module declares which facts it reads; it must have asked for them. */
  decide(command: C, facts: Partial<SystemFacts>, now: Instant): SystemDecision;
}

/**
 * What a command reads and changes. `secrets`: what the master key seals. `heads`: reads the newest link of
 * every chain. `all`: every license, and the time.
 */
export type SystemScope = 'server' | 'secrets' | 'heads' | 'all';

/** Defaults for a command that only concerns the server. */
export const ON_SERVER = { scope: 'server', needs: (): SystemNeeds => ({}) } as const;

export interface SystemNeeds {
  /** The account with this name, and how many administrators there are. */
  readonly account?: string | null;
  readonly token?: TokenKey;
  readonly notice?: NoticeKey;
  readonly cursor?: Follower;
  readonly settings?: true;
  readonly written?: true;
  readonly masterKey?: true;
  readonly grantKeys?: true;
  readonly channels?: true;
  readonly clock?: true;
  readonly licenses?: true;
  readonly heads?: true;
  readonly chains?: Pick<ThinAudit, 'before' | 'chain'>;
  readonly reset?: true;
  /** How often the history names this user. */
  readonly historyOf?: string;
}

/** What to find a token by. An id may also be a name. */
export type TokenKey = { readonly hash: string } | { readonly name: string } | { readonly id: string };

export interface SystemFacts {
  /** An administrator has had a password of their own. */
  readonly isSetUp: boolean;
  /** The number of the last usage file. */
  readonly usageSequence: number;
  /** How far the test clock is ahead of the wall clock; `null`: there is none. */
  readonly testClockMs: number | null;
  /** The hardware id of the machine that the server last ran on; `null`: it never ran. */
  readonly hardwareId: string | null;
  /** The rules in force. */
  readonly rules: Rules;
  /** `null`: there have never been any. */
  readonly written: WrittenRules | null;

  readonly account: KeptAccount | null;
  readonly administrators: number;
  readonly token: Token | null;
  /** The value in the last notice for this key; `null` if none was sent. */
  readonly notedValue: number | null;
  /** The last event that was delivered to the follower; `null`: there never was one. */
  readonly cursor: AuditPosition | null;
  /** Those in the store. */
  readonly settings: readonly StoredSetting[];
  /** Of the master key that seals the store. */
  readonly masterKeyFingerprint: string;
  /** The newest first. */
  readonly grantKeys: readonly GrantKey[];
  /** By name. */
  readonly channels: readonly Channel[];
  readonly clock: { readonly jump: ClockJump | null; readonly wall: Instant };
  /** All licenses, removed ones included. */
  readonly licenses: readonly License[];
  readonly heads: SignableHeads;
  readonly chains: readonly ThinnableChain[];
  readonly reset: ResetFacts;
  /** How many records of the history name the user. */
  readonly namedRecords: number;
}

/** What a decision sees of an account. */
export interface KeptAccount {
  readonly role: Role;
  readonly products: ProductLimit;
  readonly passwordHash: string;
  /** `null`: the password is its owner's own. */
  readonly oneTime: OneTimePassword | null;
  readonly secondFactor: SecondFactor | null;
}

/** The heads of all chains before this commit. */
export interface SignableHeads {
  /** Nothing was written since they were last signed. */
  readonly isSigned: boolean;
  readonly heads: HeadsSigned['heads'];
}

/** A chain that may be thinned out. */
export interface ThinnableChain {
  readonly chain: number;
  /** The last link that only a total is left of; 0: none. */
  readonly thinnedTo: number;
  /** The last link that is older than the date, at most the newest but one. */
  readonly oldTo: number;
  /** Every link that would go is as it was written: a total must not cover what was tampered with. */
  readonly isWhole: boolean;
  /** What takes the place of the links; `null`: none would go, or the chain is not whole. */
  readonly folded: AuditSegment | null;
}

/** What a reset of the clock sees. */
export interface ResetFacts {
  /** The time to go back to. */
  readonly to: Instant;
  /** The licenses that have ended borrows whose date is ahead of that time; none if it cannot be reset. */
  readonly licenses: readonly RestoreView[];
}
