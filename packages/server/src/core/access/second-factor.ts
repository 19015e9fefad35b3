import { isPerson } from './person.ts';
import type { Role } from './role.ts';
import type { TokenKind } from './token.ts';

/** What an account needs besides its password: a code of an authenticator app, or a recovery code. */
export interface SecondFactor {
  /** The latest time step whose code was accepted. Only later ones count, so each code works once. */
  readonly usedStep: number;
  /** Hashes of the recovery codes that are left. */
  readonly recoveryCodes: readonly string[];
}

/** What a code turned out to be, which takes a secret to find out. */
export type SentCode =
  | { readonly kind: 'step'; readonly step: number }
  | { readonly kind: 'recovery'; readonly hash: string }
  | { readonly kind: 'wrong' };

/** The second factor after this code was used; `null`: the code is wrong, or was used before. */
export function spendCode(factor: SecondFactor, code: SentCode): SecondFactor | null {
  if (code.kind === 'step') return code.step > factor.usedStep ? { ...factor, usedStep: code.step } : null;
  if (code.kind === 'wrong' || !factor.recoveryCodes.includes(code.hash)) return null;
  return { ...factor, recoveryCodes: factor.recoveryCodes.filter((hash) => hash !== code.hash) };
}

interface Holder {
  readonly kind: TokenKind;
  readonly account: string | null;
  readonly role: Role;
}

/**
 * Whether somebody has signed in to an account for people. Those of a provider or a directory have none here,
 * the role `user` is for applications, and API tokens are for programs.
 */
export function isOfAccountForPeople({ kind, account, role }: Holder): boolean {
  return kind !== 'api' && account !== null && !isPerson(account) && role !== 'user';
}
