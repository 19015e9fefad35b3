import { HOUR_MS, type Instant } from '../nouns/instant.ts';
import type { Role } from './role.ts';

/**
 * What stands for somebody after they have shown who they are. `auth`: from `/auth`, for programs that keep
 * it for ever; `session`: of a browser; `api`: made by an administrator, with a name and a role of its own.
 */
export type TokenKind = 'auth' | 'session' | 'api';

/**
 * `until_set_up`: made over HTTP during setup, and revoked once an administrator has a password of their own.
 * `password_only`: from a one-time password that was used before; good only for replacing that password.
 */
export type TokenRestriction = 'until_set_up' | 'password_only';

export interface Token {
  /** Tells tokens apart for people; it is no secret, and opens nothing. */
  readonly id: string;
  readonly kind: TokenKind;
  /** Whose it is; `null` for one of its own. */
  readonly account: string | null;
  /** Of one of its own; the others have the name of their account. */
  readonly name: string | null;
  readonly role: Role;
  readonly issuedAt: Instant;
  /** The last use, or the making of one that was never used. */
  readonly usedAt: Instant;
  readonly isUsed: boolean;
  /** Only for those of their own; `null`: until it is revoked. */
  readonly expiresAt: Instant | null;
  readonly restriction: TokenRestriction | null;
}

/** A token from `/auth` lives this long after its last use; clients of this API never ask for another. */
export const TOKEN_LIFETIME_MS = 30 * 24 * HOUR_MS;

/** A browser is signed out after half a day, used or not. */
export const SESSION_LIFETIME_MS = 12 * HOUR_MS;

/** How long a token of its own counts unless something else is said. */
export const DEFAULT_TOKEN_DAYS = 365;

/**
 * A token's last use is written at most this often, so that using one does not cost a write each time. The
 * first use is always written: whether a token is used at all is what people ask.
 */
const TOUCH_INTERVAL_MS = HOUR_MS;

export function isTokenAlive({ kind, issuedAt, usedAt, expiresAt }: Token, now: Instant): boolean {
  switch (kind) {
    case 'auth':
      return now < usedAt + TOKEN_LIFETIME_MS;
    case 'session':
      return now < issuedAt + SESSION_LIFETIME_MS;
    case 'api':
      return expiresAt === null || now < expiresAt;
  }
}

export function isTouchDue({ usedAt, isUsed }: Token, now: Instant): boolean {
  return !isUsed || now >= usedAt + TOUCH_INTERVAL_MS;
}

const ID_LENGTH = 12;

/** Part of a hash of 256 random bits: too little to find them by, enough to tell them apart. */
export function tokenIdOf(tokenHash: string): string {
  return tokenHash.slice(0, ID_LENGTH);
}
