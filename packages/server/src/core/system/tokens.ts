import { refuseIfOver } from '../access/one-time-password.ts';
import { limitOf } from '../access/role.ts';
import { isTouchDue, SESSION_LIFETIME_MS, TOKEN_LIFETIME_MS, tokenIdOf } from '../access/token.ts';
import type { CreateToken, RevokeToken, SignIn, UseToken } from '../access-command.ts';
import { unchanged } from '../decision.ts';
import { DAY_MS, type Instant, plus } from '../nouns/instant.ts';
import { tokenNoticeKey } from '../nouns/notice-key.ts';
import { refuse } from '../outcome.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';
import { takeSecondStep } from './second-step.ts';

/** The password was right when it was checked; since then it may have changed, or the account be gone. */
export const signIn = {
  ...ON_SERVER,
  // A failed sign-in must cost the same whether or not there is such an account.
  needs: ({ account, tokenHash, confirms }) => ({
    account: tokenHash === null && confirms === undefined ? null : account,
  }),

  decide(command, { account }: Pick<SystemFacts, 'account'>, now) {
    const {
      account: name,
      address,
      tokenHash,
      checkedHash,
      code = null,
      reason,
      isBrowser = false,
      confirms,
    } = command;
    const by = { name, address };
    const why = reason === undefined ? {} : { reason };
    const what = confirms === undefined ? {} : { confirms };
    const failed = [{ kind: 'sign_in_failed', account: name, ...what, ...why, by }] as const;
    const isAsked = tokenHash !== null || confirms !== undefined;
    if (!isAsked || account === null || account.passwordHash !== checkedHash) {
      return { ...unchanged(), events: failed };
    }
    const { oneTime } = account;
    if (confirms !== undefined && oneTime !== null) return unchanged(refuse('forbidden', OWN_FIRST));
    const over = refuseIfOver('unauthorized', name, oneTime, now);
    if (over !== null) return { ...unchanged(over), events: failed };
    const { refused, codesLeft, ...second } = takeSecondStep(name, account.secondFactor, code, by);
    if (refused !== null) return { ...unchanged(refused), events: second.events };
    const recovery = codesLeft === undefined ? {} : { recoveryCodesLeft: codesLeft };
    const restriction = oneTime?.isUsed === true ? 'password_only' : null;
    const kind = isBrowser ? 'session' : 'auth';
    const put = (hash: string) => {
      const token = { ...tokenOf(hash, now), kind, account: name, restriction } as const;
      return { kind: 'put_token', tokenHash: hash, token } as const;
    };
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [
        removeDead(now),
        ...second.changes,
        ...(oneTime === null ? [] : [{ kind: 'use_one_time_password', name } as const]),
        ...(tokenHash === null ? [] : [put(tokenHash)]),
      ],
      events: [{ kind: 'signed_in', account: name, ...what, ...recovery, by }],
    };
  },
} satisfies SystemModule<SignIn>;

const OWN_FIRST = 'A one-time password confirms nothing. Replace it with a password of your own first.';

export const useToken = {
  ...ON_SERVER,
  needs: ({ tokenHash }) => ({ token: { hash: tokenHash } }),

  decide({ tokenHash }, { token }: Pick<SystemFacts, 'token'>, now) {
    if (token === null || !isTouchDue(token, now)) return unchanged();
    return { ...unchanged({ kind: 'done', count: 1 }), changes: [{ kind: 'touch_token', tokenHash }] };
  },
} satisfies SystemModule<UseToken>;

/** A name is given once: a repeated request makes no second token. */
export const createToken = {
  ...ON_SERVER,
  needs: ({ name }) => ({ token: { name } }),

  decide(command, facts: Pick<SystemFacts, 'token' | 'isSetUp'>, now) {
    const { tokenHash, name, role, products = null, days, shown = 'socket', by } = command;
    if (shown === 'nothing' && facts.isSetUp) {
      const message =
        'Setup is over, so a token can no longer be created without credentials. Sign in first.';
      return unchanged(refuse('unauthorized', message));
    }
    if (facts.token !== null) {
      const message = `There is already a token "${name}". Revoke it first, or choose another name.`;
      return unchanged(refuse('token_exists', message));
    }
    const expiresAt = days === null ? null : plus(now, days * DAY_MS);
    // Credentials prove little during setup: whoever is on the machine can make some for themselves.
    const endsWithSetup = shown !== 'socket' && !facts.isSetUp;
    const restriction = endsWithSetup ? 'until_set_up' : null;
    const own = { kind: 'api', name, role, products, expiresAt, restriction } as const;
    const token = { ...tokenOf(tokenHash, now), ...own };
    const restricted = { ...limitOf(products), ...(endsWithSetup ? ({ endsWithSetup } as const) : {}) };
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [{ kind: 'put_token', tokenHash, token }],
      events: [{ kind: 'token_created', tokenId: token.id, name, role, expiresAt, ...restricted, by }],
    };
  },
} satisfies SystemModule<CreateToken>;

export const revokeToken = {
  ...ON_SERVER,
  needs: ({ tokenId }) => ({ token: { id: tokenId } }),

  decide({ tokenId, by }, { token }: Pick<SystemFacts, 'token'>) {
    if (token === null) return unchanged(refuse('token_not_found', `There is no token "${tokenId}".`));
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [
        { kind: 'remove_token', tokenId: token.id },
        { kind: 'remove_notice', key: tokenNoticeKey(token.id) },
      ],
      events: [{ kind: 'token_revoked', tokenId: token.id, name: token.name ?? token.account, by }],
    };
  },
} satisfies SystemModule<RevokeToken>;

export function removeDead(now: Instant) {
  return {
    kind: 'remove_dead_tokens',
    authUsedBy: plus(now, -TOKEN_LIFETIME_MS),
    sessionIssuedBy: plus(now, -SESSION_LIFETIME_MS),
  } as const;
}

export function tokenOf(tokenHash: string, now: Instant) {
  const at = { issuedAt: now, usedAt: now, isUsed: false, expiresAt: null };
  const own = { name: null, account: null, role: null, products: null, restriction: null };
  return { id: tokenIdOf(tokenHash), ...own, ...at };
}
