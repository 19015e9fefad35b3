import { type SecondFactor, spendCode } from '../access/second-factor.ts';
import type { RemoveSecondFactor, SetSecondFactor } from '../access-command.ts';
import { type SystemChange, unchanged } from '../decision.ts';
import { refuse } from '../outcome.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';
import { refuseUnknown } from './accounts.ts';
import { codeFailed } from './second-step.ts';

type AccountFacts = Pick<SystemFacts, 'account'>;

/** Whoever signed in without it is signed out, except the one who sets it up. */
export const setSecondFactor = {
  scope: 'secrets',
  needs: ({ account }) => ({ account }),

  decide(command, { account }: AccountFacts) {
    const { account: name, secret, usedStep, recoveryCodes, checkedHash, keptToken, by } = command;
    if (account === null) return unchanged(refuseUnknown(name));
    const why = whyNot(account, checkedHash);
    if (why !== null) return unchanged(refuse('forbidden', why));
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [
        { kind: 'put_secret', name: `second_factor:${name}`, secret },
        { kind: 'put_second_factor', name, secondFactor: { usedStep, recoveryCodes } },
        { kind: 'remove_tokens_of', account: name, except: keptToken },
      ],
      events: [{ kind: 'second_factor_set', account: name, by }],
    };
  },
} satisfies SystemModule<SetSecondFactor>;

function whyNot(account: NonNullable<AccountFacts['account']>, checkedHash: string): string | null {
  if (account.passwordHash !== checkedHash) return 'The password was replaced a moment ago. Try again.';
  if (account.role === 'user')
    return 'Accounts with role "user" are for applications: they have no second factor.';
  return account.secondFactor === null ? null : 'This account has a second factor. Turn it off first.';
}

/** Its owner proves to have it; an administrator who helps somebody else does not. */
export const removeSecondFactor = {
  ...ON_SERVER,
  needs: ({ account }) => ({ account }),

  decide({ account: name, proof, by }, { account }: AccountFacts) {
    if (account === null) return unchanged(refuseUnknown(name));
    if (account.secondFactor === null) return unchanged();
    if (proof !== null && !isProof(account, account.secondFactor, proof)) {
      const message = 'The code is wrong or was used before. Nothing was changed.';
      return { ...unchanged(refuse('invalid_credentials', message)), events: [codeFailed(name, by)] };
    }
    const tokens: SystemChange = { kind: 'remove_tokens_of', account: name, except: null };
    return {
      outcome: { kind: 'done', count: 1 },
      // The owner goes on; somebody who has lost the device may have lost a session with it.
      changes: [{ kind: 'remove_second_factor', name }, ...(proof === null ? [tokens] : [])],
      events: [{ kind: 'second_factor_removed', account: name, by }],
    };
  },
} satisfies SystemModule<RemoveSecondFactor>;

function isProof(
  { passwordHash }: { readonly passwordHash: string },
  factor: SecondFactor,
  { checkedHash, code }: NonNullable<RemoveSecondFactor['proof']>,
): boolean {
  return passwordHash === checkedHash && spendCode(factor, code) !== null;
}
