import { refuseIfOver } from '../access/one-time-password.ts';
import type { Role } from '../access/role.ts';
import { isTouchDue, SESSION_LIFETIME_MS, TOKEN_LIFETIME_MS, tokenIdOf } from '../access/token.ts';
import type { SystemChange, SystemDecision } from '../decision.ts';
import { DAY_MS, type Instant, plus } from '../nouns/instant.ts';
import { tokenNoticeKey } from '../nouns/notice-key.ts';
import { type Refused, refuse } from '../outcome.ts';
import type {
  CreateAccount,
  CreateToken,
  RemoveAccount,
  RevokeToken,
  SetPassword,
  SetRole,
  SignIn,
  UseToken,
} from '../system-command.ts';
import type { SystemView } from '../view.ts';

export type AccountCommand =
  | CreateAccount
  | SetPassword
  | SetRole
  | RemoveAccount
  | SignIn
  | UseToken
  | CreateToken
  | RevokeToken;

/** Who may come in, and what shows that they may. */
export function decideAccount(command: AccountCommand, view: SystemView, now: Instant): SystemDecision {
  switch (command.kind) {
    case 'create_account':
      return decideCreateAccount(command, view);
    case 'set_password':
      return decideSetPassword(command, view, now);
    case 'set_role':
      return decideSetRole(command, view);
    case 'remove_account':
      return decideRemoveAccount(command, view);
    case 'sign_in':
      return decideSignIn(command, view, now);
    case 'use_token':
      return decideUseToken(command, view, now);
    case 'create_token':
      return decideCreateToken(command, view, now);
    case 'revoke_token':
      return decideRevokeToken(command, view);
  }
}

function decideCreateAccount(command: CreateAccount, view: SystemView): SystemDecision {
  const { name, role, passwordHash, oneTime, by } = command;
  if (view.account !== null) {
    return withoutEffect(refuse('account_exists', `There is an account "${name}" already.`));
  }
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [{ kind: 'put_account', name, role, passwordHash, oneTime }, ...endSetup(view, role, oneTime)],
    events: [{ kind: 'account_created', account: name, role, by }],
  };
}

/**
 * Setup is over once an administrator has a password of their own. Until then anybody on the machine could
 * make tokens, and accounts to sign in with; so every account is signed out, except for `keptToken`, and the
 * tokens made over HTTP are revoked.
 */
function endSetup(
  { isSetUp }: SystemView,
  role: Role,
  oneTime: boolean,
  keptToken: string | null = null,
): readonly SystemChange[] {
  if (isSetUp || role !== 'admin' || oneTime) return [];
  return [{ kind: 'end_setup' }, { kind: 'remove_setup_tokens', except: keptToken }];
}

/** Whoever came in with the old password is out, but for the one who changes it. */
function decideSetPassword(command: SetPassword, view: SystemView, now: Instant): SystemDecision {
  const { account: name, passwordHash, oneTime, checkedHash, keptToken, by } = command;
  const { account } = view;
  if (account === null) return withoutEffect(refuseUnknown(name));
  if (checkedHash != null && checkedHash !== account.passwordHash) {
    const message = 'The old password was replaced a moment ago. Nothing was changed.';
    return withoutEffect(refuse('invalid_credentials', message));
  }
  const over = checkedHash == null ? null : refuseIfOver('invalid_credentials', name, account.oneTime, now);
  if (over !== null) return withoutEffect(over);
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [
      { kind: 'put_password', name, passwordHash, oneTime },
      { kind: 'remove_tokens_of', account: name, except: keptToken },
      ...(keptToken === null ? [] : [{ kind: 'free_token', tokenHash: keptToken } as const]),
      ...endSetup(view, account.role, oneTime, keptToken),
    ],
    events: [{ kind: 'password_changed', account: name, oneTime, by }],
  };
}

function decideSetRole(command: SetRole, view: SystemView): SystemDecision {
  const { account: name, role, by } = command;
  const { account } = view;
  if (account === null) return withoutEffect(refuseUnknown(name));
  if (account.role === role) return withoutEffect({ kind: 'done', count: 0 });
  if (isLastAdministrator(view)) return withoutEffect(refuseLast(name));
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [{ kind: 'put_role', name, role }, ...endSetup(view, role, account.oneTime !== null)],
    events: [{ kind: 'role_changed', account: name, before: account.role, role, by }],
  };
}

function decideRemoveAccount({ account: name, by }: RemoveAccount, view: SystemView): SystemDecision {
  if (view.account === null) return withoutEffect(refuseUnknown(name));
  if (isLastAdministrator(view)) return withoutEffect(refuseLast(name));
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [
      { kind: 'remove_account', name },
      { kind: 'remove_tokens_of', account: name, except: null },
    ],
    events: [{ kind: 'account_removed', account: name, by }],
  };
}

function isLastAdministrator({ account, administrators }: SystemView): boolean {
  return account?.role === 'admin' && administrators <= 1;
}

function refuseUnknown(name: string): Refused {
  return refuse('account_not_found', `There is no account "${name}".`);
}

function refuseLast(name: string): Refused {
  return refuse('last_administrator', `"${name}" is the only administrator. Make another one first.`);
}

/** The password was right when it was looked at; since then it may be another one, or the account gone. */
function decideSignIn(command: SignIn, { account }: SystemView, now: Instant): SystemDecision {
  const { account: name, address, tokenHash, checkedHash, isBrowser = false } = command;
  const by = { name, address };
  if (tokenHash === null || account === null || account.passwordHash !== checkedHash) {
    return {
      outcome: { kind: 'done', count: 0 },
      changes: [],
      events: [{ kind: 'sign_in_failed', account: name, by }],
    };
  }
  const { oneTime } = account;
  const over = refuseIfOver('unauthorized', name, oneTime, now);
  if (over !== null) {
    return { outcome: over, changes: [], events: [{ kind: 'sign_in_failed', account: name, by }] };
  }
  const kind = isBrowser ? 'session' : 'auth';
  const restriction = oneTime?.isUsed === true ? 'password_only' : null;
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [
      {
        kind: 'remove_dead_tokens',
        authUsedBy: plus(now, -TOKEN_LIFETIME_MS),
        sessionIssuedBy: plus(now, -SESSION_LIFETIME_MS),
      },
      ...(oneTime === null ? [] : [{ kind: 'use_one_time_password', name } as const]),
      {
        kind: 'put_token',
        tokenHash,
        token: { ...tokenOf(tokenHash, now), kind, account: name, restriction },
      },
    ],
    events: [{ kind: 'signed_in', account: name, by }],
  };
}

function tokenOf(tokenHash: string, now: Instant) {
  const at = { issuedAt: now, usedAt: now, isUsed: false, expiresAt: null };
  return { id: tokenIdOf(tokenHash), name: null, account: null, role: null, restriction: null, ...at };
}

function decideUseToken({ tokenHash }: UseToken, { token }: SystemView, now: Instant): SystemDecision {
  const isDue = token !== null && isTouchDue(token, now);
  return {
    outcome: { kind: 'done', count: isDue ? 1 : 0 },
    changes: isDue ? [{ kind: 'touch_token', tokenHash }] : [],
    events: [],
  };
}

/** Names are given once: a request that is repeated makes no second token. */
function decideCreateToken(command: CreateToken, view: SystemView, now: Instant): SystemDecision {
  const { tokenHash, name, role, days, shown = 'socket', by } = command;
  if (shown === 'nothing' && view.isSetUp) {
    const message =
      'A token that is made without credentials ends with the setup, which is over. Sign in first.';
    return withoutEffect(refuse('unauthorized', message));
  }
  if (view.token !== null) {
    const message = `There is a token "${name}" already. Revoke it first, or choose another name.`;
    return withoutEffect(refuse('token_exists', message));
  }
  const expiresAt = days === null ? null : plus(now, days * DAY_MS);
  // Credentials prove little during setup: whoever is on the machine can make some for themselves.
  const endsWithSetup = shown !== 'socket' && !view.isSetUp;
  const restriction = endsWithSetup ? 'until_set_up' : null;
  const token = { ...tokenOf(tokenHash, now), kind: 'api', name, role, expiresAt, restriction } as const;
  const told = endsWithSetup ? { endsWithSetup } : {};
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [{ kind: 'put_token', tokenHash, token }],
    events: [{ kind: 'token_created', tokenId: token.id, name, role, expiresAt, ...told, by }],
  };
}

function decideRevokeToken({ tokenId, by }: RevokeToken, { token }: SystemView): SystemDecision {
  if (token === null) {
    return withoutEffect(refuse('token_not_found', `There is no token "${tokenId}".`));
  }
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [
      { kind: 'remove_token', tokenId: token.id },
      { kind: 'remove_notice', key: tokenNoticeKey(token.id) },
    ],
    events: [{ kind: 'token_revoked', tokenId: token.id, name: token.name ?? token.account, by }],
  };
}

function withoutEffect(outcome: SystemDecision['outcome']): SystemDecision {
  return { outcome, changes: [], events: [] };
}
