import type { ProductLimit, Role } from './access/role.ts';
import type { SecondFactor, SentCode } from './access/second-factor.ts';
import type { Actor } from './nouns/actor.ts';

// Commands on accounts and tokens; the other commands on the server itself are in `system-command.ts`.

export interface CreateAccount {
  readonly kind: 'create_account';
  readonly name: string;
  readonly role: Role;
  readonly products?: ProductLimit;
  readonly passwordHash: string;
  /** The server made the password up; it must be replaced. */
  readonly oneTime: boolean;
  readonly by: Actor;
}

export interface SetPassword {
  readonly kind: 'set_password';
  readonly account: string;
  readonly passwordHash: string;
  readonly oneTime: boolean;
  /** The hash that the old password was checked against, if it was asked for. */
  readonly checkedHash?: string | null;
  /** The second step, if the old password was asked for and somebody has sent a code. */
  readonly code?: SentCode | null;
  /** The hash of the token that stays valid; `null`: none does. */
  readonly keptToken: string | null;
  readonly by: Actor;
}

export interface SetRole {
  readonly kind: 'set_role';
  readonly account: string;
  readonly role: Role;
  /** Replaces the limit that there was, also if it is missing. */
  readonly products?: ProductLimit;
  readonly by: Actor;
}

export interface RemoveAccount {
  readonly kind: 'remove_account';
  readonly account: string;
  readonly by: Actor;
}

/** `usedStep`: of the code with which its owner has confirmed it. */
export interface SetSecondFactor extends SecondFactor {
  readonly kind: 'set_second_factor';
  readonly account: string;
  /** Shared with the authenticator app, in base32. */
  readonly secret: string;
  /** The hash that the password was checked against. */
  readonly checkedHash: string;
  /** The hash of the token that stays valid; `null`: none does. */
  readonly keptToken: string | null;
  readonly by: Actor;
}

export interface RemoveSecondFactor {
  readonly kind: 'remove_second_factor';
  readonly account: string;
  /** What its owner has proven; `null`: an administrator removes it. */
  readonly proof: { readonly checkedHash: string; readonly code: SentCode } | null;
  readonly by: Actor;
}

/** The result of a password check, which is too slow to be part of a decision. */
export interface SignIn {
  readonly kind: 'sign_in';
  readonly account: string;
  readonly address: string;
  /** `null`: the password was wrong, or the account does not exist. */
  readonly tokenHash: string | null;
  /** The hash that the password was checked against: it may have been replaced meanwhile. */
  readonly checkedHash: string | null;
  /** The second step, if somebody has sent a code. */
  readonly code?: SentCode | null;
  /** Why it fails, if not because of the name or the password. */
  readonly reason?: string;
  /** Browsers are signed out after half a day. */
  readonly isBrowser?: boolean;
  /** Somebody who has signed in confirms an operation with this name, and gets no token. */
  readonly confirms?: string;
}

/** Somebody was identified by a provider or a directory of the company, and has no account here. */
export interface SignInPerson {
  readonly kind: 'sign_in_person';
  /** Such as `oidc:ann`; no account has a ":" in its name. */
  readonly account: string;
  /** Who it is there, whatever they are called; `null`: unknown. */
  readonly subject: string | null;
  readonly address: string;
  /** `null`: they were refused. */
  readonly session: {
    readonly tokenHash: string;
    readonly role: Role;
    readonly products?: ProductLimit;
  } | null;
  /** Why they were refused. */
  readonly reason: string | null;
  readonly isBrowser: boolean;
  /** Identifies the attempt, if it counts once. */
  readonly attempt: string | null;
  /** How long ago they have shown who they are, with a password for example; `null`: it is not known. */
  readonly shownAgoMs?: number | null;
}

/** A token was used, which starts its lifetime anew. */
export interface UseToken {
  readonly kind: 'use_token';
  readonly tokenHash: string;
}

/** `socket`: access to the data folder. `nothing`: being on the machine during setup. */
export type Shown = 'socket' | 'credentials' | 'nothing';

/** Makes an API token, for a program. */
export interface CreateToken {
  readonly kind: 'create_token';
  readonly tokenHash: string;
  readonly name: string;
  readonly role: Role;
  readonly products?: ProductLimit;
  /** How long it is valid; `null`: until it is revoked. */
  readonly days: number | null;
  /** What the caller has proven; `socket` by default. */
  readonly shown?: Shown;
  readonly by: Actor;
}

export interface RevokeToken {
  readonly kind: 'revoke_token';
  /** Its id, or its name. */
  readonly tokenId: string;
  readonly by: Actor;
}
