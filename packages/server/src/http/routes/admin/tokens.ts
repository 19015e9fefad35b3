import { DEFAULT_TOKEN_DAYS, TOKEN_API } from '@berth/protocol/admin/tokens';
import { LIMITS } from '../../../config.ts';
import { endOfToken, isTokenAlive } from '../../../core/access/token.ts';
import type { Shown } from '../../../core/access-command.ts';
import type { Tokens } from '../../../services/access/tokens.ts';
import type { Caller } from '../../access/caller.ts';
import { adminRoutes } from '../../admin-route.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { Route } from '../../route.ts';

export function tokenRoutes(tokens: Tokens): readonly Route[] {
  return adminRoutes(TOKEN_API, {
    'GET /api/admin/tokens': {
      name: 'admin_tokens',
      access: 'viewer',
      summary: 'The newest thousand tokens, without their values',
      handle: async (_, send) => send({ tokens: (await tokens.list(LIMITS.pageRows)).map(presentToken) }),
    },
    'POST /api/admin/tokens/create': {
      name: 'admin_token_create',
      access: 'admin',
      summary: 'Create a token with a name, a role and an expiry; it is returned only once',
      errors: ['token_exists', 'unauthorized'],
      handle: async ({ body, caller }, send) => {
        const { name, role, products, days: count = DEFAULT_TOKEN_DAYS } = body;
        const days = count === 'never' ? null : count;
        const wish = { name, role, products, days, shown: shownBy(caller) };
        const { id, token, kept, outcome } = await tokens.create(wish, caller.actor);
        if (outcome.kind === 'refused') return outcome;
        const { expiresAt = null, restriction = null } = kept ?? {};
        return send({ id, token, ...toWire({ expiresAt, restriction }) });
      },
    },
    'POST /api/admin/tokens/revoke': {
      name: 'admin_token_revoke',
      access: 'admin',
      summary: 'Revoke a token by its id or name',
      errors: ['token_not_found'],
      handle: ({ body, caller }) => tokens.revoke(body.id, caller.actor),
    },
  });
}

function presentToken({ token, now }: Awaited<ReturnType<Tokens['list']>>[number]) {
  const { id, kind, account, name: own, role, products, issuedAt, restriction } = token;
  const usedAt = token.isUsed ? token.usedAt : null;
  const expiresAt = endOfToken(token);
  const isAlive = isTokenAlive(token, now);
  const times = { issuedAt, usedAt, expiresAt };
  return toWire({ id, kind, account, name: own, role, products, ...times, restriction, isAlive });
}

function shownBy({ kind }: Caller): Shown {
  if (kind === 'control') return 'socket';
  return kind === 'local' ? 'nothing' : 'credentials';
}
