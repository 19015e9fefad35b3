import { HOUR_MS, type Instant, MINUTE_MS, plus } from '../nouns/instant.ts';
import { isPerson } from './person.ts';
import type { ProductLimit, Role } from './role.ts';

/**
 * Identifies a caller who has signed in. `auth`: from `/auth`, for programs that never ask for
 * another; `session`: of a browser; `api`: made by an administrator, with its own name and role.
 */
export type TokenKind = 'auth' | 'session' | 'api';

/**
 * `until_set_up`: made over HTTP during setup, and revoked once an administrator has their own password.
 * `password_only`: from a one-time password that was used before; it can only replace that password.
 */
export type TokenRestriction = 'until_set_up' | 'password_only';

export interface Token {
  /** For people to tell tokens apart; it is no secret. */
  readonly id: string;
  readonly kind: TokenKind;
  /** `null` for an API token. */
  readonly account: string | null;
  /** Only of an API token. */
  readonly name: string | null;
  readonly role: Role;
  readonly products: ProductLimit;
  readonly issuedAt: Instant;
  /** The last use, or when it was made if it was never used. */
  readonly usedAt: Instant;
  readonly isUsed: boolean;
  /** Only for API tokens; `null`: until it is revoked. */
  readonly expiresAt: Instant | null;
  readonly restriction: TokenRestriction | null;
}

/** A token from `/auth` lives this long after its last use. */
export const TOKEN_LIFETIME_MS = 30 * 24 * HOUR_MS;

/** A browser is signed out after half a day, used or not. */
export const SESSION_LIFETIME_MS = 12 * HOUR_MS;

/** A token's last use is written at most this often. The first use always is, because people look for it. */
const TOUCH_INTERVAL_MS = HOUR_MS;

/**
 * When it ends, however it is used; `null`: not by itself. Of somebody without an account it is not known
 * whether they are still with the company, so all that they get ends like a session.
 */
export function endOfToken({ kind, account, issuedAt, expiresAt }: Token): Instant | null {
  const isShort = kind === 'session' || isPerson(account ?? '');
  return isShort ? plus(issuedAt, SESSION_LIFETIME_MS) : expiresAt;
}

export function isTokenAlive(token: Token, now: Instant): boolean {
  if (token.kind === 'auth' && now >= token.usedAt + TOKEN_LIFETIME_MS) return false;
  const end = endOfToken(token);
  return end === null || now < end;
}

export function isTouchDue({ usedAt, isUsed }: Token, now: Instant): boolean {
  return !isUsed || now >= usedAt + TOUCH_INTERVAL_MS;
}

/** For this long, a sign-in at a provider or a directory confirms who the holder of the token is. */
export const CONFIRMED_MS = 5 * MINUTE_MS;

const ID_LENGTH = 12;

/** Part of a hash of 256 random bits: enough to tell tokens apart, too little to find one. */
export function tokenIdOf(tokenHash: string): string {
  return tokenHash.slice(0, ID_LENGTH);
}
