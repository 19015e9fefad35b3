import { type SecondFactor, type SentCode, spendCode } from '../access/second-factor.ts';
import type { RemoveSecondFactor, SetSecondFactor } from '../access-command.ts';
import { type SystemChange, unchanged } from '../decision.ts';
import type { Actor } from '../nouns/actor.ts';
import type { SystemEvent } from '../nouns/audit-event.ts';
import { type Refused, refuse } from '../outcome.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';
import { refuseUnknown } from './accounts.ts';

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

/** What is asked of somebody who knows the password. */
interface SecondStep {
  readonly refused: Refused | null;
  readonly changes: readonly SystemChange[];
  readonly events: readonly SystemEvent[];
  /** How many recovery codes are left, if one was used. */
  readonly codesLeft?: number;
}

/** `code`: `null` if none was sent. */
export function takeSecondStep(
  name: string,
  factor: SecondFactor | null,
  code: SentCode | null,
  by: Actor,
): SecondStep {
  if (factor === null) return { refused: null, changes: [], events: [] };
  if (code === null) {
    const events = [{ kind: 'second_factor_asked', account: name, by } as const];
    return { refused: refuse('second_factor_required', ASK), changes: [], events };
  }
  const left = spendCode(factor, code);
  if (left === null) {
    const message = 'The code is wrong or was used before. Wait for the next one, or use a recovery code.';
    return {
      refused: refuse('second_factor_required', message),
      changes: [],
      events: [codeFailed(name, by)],
    };
  }
  const used = code.kind === 'recovery' ? { codesLeft: left.recoveryCodes.length } : {};
  return {
    refused: null,
    changes: [{ kind: 'put_second_factor', name, secondFactor: left }],
    events: [],
    ...used,
  };
}

const ASK =
  'This account has a second factor. Send the name and the password again, together with the code of the ' +
  'authenticator app or a recovery code: in the header "X-Berth-Code" to /auth, or as "code" in the body.';

function codeFailed(account: string, by: Actor): SystemEvent {
  const reason = 'The password was right, but the code was wrong or was used before.';
  return { kind: 'sign_in_failed', account, reason, by };
}
