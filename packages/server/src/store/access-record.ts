import type { SecondFactor } from '../core/access/second-factor.ts';
import type { Token } from '../core/access/token.ts';
import type { Instant } from '../core/nouns/instant.ts';
import type { KeptAccount } from '../core/system-module.ts';

export interface AccountRecord extends KeptAccount {
  readonly name: string;
  readonly createdAt: Instant;
}

export interface TokenRecord {
  readonly token: Token;
  /** Of the token's account. */
  readonly secondFactor: SecondFactor | null;
  readonly now: Instant;
}
