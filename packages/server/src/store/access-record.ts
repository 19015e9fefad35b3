import type { OneTimePassword } from '../core/access/one-time-password.ts';
import type { ProductLimit, Role } from '../core/access/role.ts';
import type { SecondFactor } from '../core/access/second-factor.ts';
import type { Token } from '../core/access/token.ts';
import type { Instant } from '../core/nouns/instant.ts';

export interface AccountRecord {
  readonly name: string;
  readonly role: Role;
  readonly products: ProductLimit;
  readonly passwordHash: string;
  /** `null`: the owner has set the password. */
  readonly oneTime: OneTimePassword | null;
  readonly secondFactor: SecondFactor | null;
  readonly createdAt: Instant;
}

export interface TokenRecord {
  readonly token: Token;
  /** Of the token's account. */
  readonly secondFactor: SecondFactor | null;
  readonly now: Instant;
}
