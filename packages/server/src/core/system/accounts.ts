import { refuseIfOver } from '../access/one-time-password.ts';
import { isSameLimit, limitOf, type Role } from '../access/role.ts';
import type { CreateAccount, RemoveAccount, SetPassword, SetRole } from '../access-command.ts';
import { type SystemChange, unchanged } from '../decision.ts';
import { type Refused, refuse } from '../outcome.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';
import { takeSecondStep } from './second-step.ts';

type AccountFacts = Pick<SystemFacts, 'account' | 'administrators' | 'isSetUp'>;

export const createAccount = {
  ...ON_SERVER,
  needs: ({ name }) => ({ account: name }),

  decide({ name, role, products = null, passwordHash, oneTime, by }, facts: AccountFacts) {
    if (facts.account !== null) {
      return unchanged(refuse('account_exists', `There is already an account "${name}".`));
    }
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [
        { kind: 'put_account', name, role, products, passwordHash, oneTime },
        ...endSetup(facts, role, oneTime),
      ],
      events: [{ kind: 'account_created', account: name, role, ...limitOf(products), by }],
    };
  },
} satisfies SystemModule<CreateAccount>;

/** Signs out everybody who came in with the old password, except the one who changes it. */
export const setPassword = {
  ...ON_SERVER,
  needs: ({ account }) => ({ account }),

  decide(command, facts: AccountFacts, now) {
    const { account: name, passwordHash, oneTime, checkedHash, code = null, keptToken, by } = command;
    const { account } = facts;
    if (account === null) return unchanged(refuseUnknown(name));
    if (checkedHash != null && checkedHash !== account.passwordHash) {
      const message =
        'The old password was replaced a moment ago. Nothing was changed: try again with the new one.';
      return unchanged(refuse('invalid_credentials', message));
    }
    const over = checkedHash == null ? null : refuseIfOver('invalid_credentials', name, account.oneTime, now);
    if (over !== null) return unchanged(over);
    // An administrator who sets it has no code of the owner.
    const factor = checkedHash == null ? null : account.secondFactor;
    const { refused, codesLeft, ...second } = takeSecondStep(name, factor, code, by);
    if (refused !== null) return { ...unchanged(refused), events: second.events };
    const recovery = codesLeft === undefined ? {} : { recoveryCodesLeft: codesLeft };
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [
        ...second.changes,
        { kind: 'put_password', name, passwordHash, oneTime },
        { kind: 'remove_tokens_of', account: name, except: keptToken },
        ...(keptToken === null ? [] : [{ kind: 'free_token', tokenHash: keptToken } as const]),
        ...endSetup(facts, account.role, oneTime, keptToken),
      ],
      events: [{ kind: 'password_changed', account: name, oneTime, ...recovery, by }],
    };
  },
} satisfies SystemModule<SetPassword>;

export const setRole = {
  ...ON_SERVER,
  needs: ({ account }) => ({ account }),

  decide({ account: name, role, products = null, by }, facts: AccountFacts) {
    const { account } = facts;
    if (account === null) return unchanged(refuseUnknown(name));
    if (account.role === role && isSameLimit(account.products, products)) return unchanged();
    if (isLastAdministrator(facts)) return unchanged(refuseLast(name));
    // Applications have none.
    const losesFactor = role === 'user' && account.secondFactor !== null;
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [
        { kind: 'put_role', name, role, products },
        ...(losesFactor ? [{ kind: 'remove_second_factor', name } as const] : []),
        ...endSetup(facts, role, account.oneTime !== null),
      ],
      events: [
        { kind: 'role_changed', account: name, before: account.role, role, ...limitOf(products), by },
        ...(losesFactor ? [{ kind: 'second_factor_removed', account: name, by } as const] : []),
      ],
    };
  },
} satisfies SystemModule<SetRole>;

export const removeAccount = {
  ...ON_SERVER,
  needs: ({ account }) => ({ account }),

  decide({ account: name, by }, facts: AccountFacts) {
    if (facts.account === null) return unchanged(refuseUnknown(name));
    if (isLastAdministrator(facts)) return unchanged(refuseLast(name));
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [
        ...(facts.account.secondFactor === null ? [] : [{ kind: 'remove_second_factor', name } as const]),
        { kind: 'remove_account', name },
        { kind: 'remove_tokens_of', account: name, except: null },
      ],
      events: [{ kind: 'account_removed', account: name, by }],
    };
  },
} satisfies SystemModule<RemoveAccount>;

/**
 * Setup is over once an administrator has a password of their own. Until then every user of the machine could
 * make tokens, and accounts to sign in with; so every account is signed out, except for `keptToken`, and the
 * tokens made over HTTP are revoked.
 */
export function endSetup(
  { isSetUp }: Pick<SystemFacts, 'isSetUp'>,
  role: Role,
  oneTime: boolean,
  keptToken: string | null = null,
): readonly SystemChange[] {
  if (isSetUp || role !== 'admin' || oneTime) return [];
  return [{ kind: 'end_setup' }, { kind: 'remove_setup_tokens', except: keptToken }];
}

function isLastAdministrator({ account, administrators }: AccountFacts): boolean {
  return account?.role === 'admin' && administrators <= 1;
}

export function refuseUnknown(name: string): Refused {
  return refuse('account_not_found', `There is no account "${name}".`);
}

function refuseLast(name: string): Refused {
  return refuse(
    'last_administrator',
    `"${name}" is the only administrator. Give another account that role first.`,
  );
}
