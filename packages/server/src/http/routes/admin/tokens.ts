import { name, positiveInteger } from '@berth/protocol/fields';
import { z } from 'zod';
import { LIMITS } from '../../../config.ts';
import { ROLES } from '../../../core/role.ts';
import { isTokenAlive } from '../../../core/token.ts';
import { RequestError } from '../../../services/request-error.ts';
import type { Tokens } from '../../../services/tokens.ts';
import { actorOf } from '../../caller.ts';
import { countReply } from '../../count-reply.ts';
import { refusalReply } from '../../problem.ts';
import { json } from '../../reply.ts';
import { defineRoute, type Route } from '../../route.ts';
import { toWire } from '../../to-wire.ts';
import { roleField } from './users.ts';

/** Longer than anybody remembers what a token was for. */
const MAX_DAYS = 3650;

const days = positiveInteger.refine((count) => count === undefined || count <= MAX_DAYS, {
  error: `must not be more than ${MAX_DAYS}`,
});

const tokenObject = z.object({
  id: z.string(),
  kind: z.enum(['auth', 'session', 'api']),
  account: z.string().nullable(),
  name: z.string().nullable(),
  role: z.enum(ROLES),
  issued_at: z.string(),
  used_at: z.string().meta({ description: 'to the hour' }),
  expires_at: z.string().nullable(),
  is_alive: z.boolean(),
});

export function tokenRoutes(tokens: Tokens): readonly Route[] {
  return [listRoute(tokens), createRoute(tokens), revokeRoute(tokens)];
}

function listRoute(tokens: Tokens): Route {
  return defineRoute({
    name: 'admin_tokens',
    methods: ['GET'],
    paths: ['/api/admin/tokens'],
    access: 'operator',
    summary: 'What stands for people and programs: the newest thousand, never the tokens themselves',
    answer: { kind: 'json', schema: z.object({ tokens: z.array(tokenObject) }) },
    errors: [],
    handle: async () => json({ tokens: (await tokens.list(LIMITS.pageRows)).map(presentToken) }),
  });
}

function presentToken({ token, now }: Awaited<ReturnType<Tokens['list']>>[number]) {
  const { id, kind, account, name: own, role, issuedAt, usedAt, expiresAt } = token;
  const isAlive = isTokenAlive(token, now);
  return toWire({ id, kind, account, name: own, role, issuedAt, usedAt, expiresAt, isAlive });
}

function createRoute(tokens: Tokens): Route {
  return defineRoute({
    name: 'admin_token_create',
    methods: ['POST'],
    paths: ['/api/admin/tokens/create'],
    access: 'admin',
    summary: 'Make a token with a name, a role and an end; it is told only now',
    body: z.object({ name, role: roleField, days }),
    answer: { kind: 'json', schema: z.object({ id: z.string(), token: z.string() }) },
    errors: ['missing_parameters', 'token_exists'],
    handle: async ({ body, caller }) => {
      const { name: own, role } = body;
      if (own === undefined || role === undefined) {
        const message = `Say what the token is for ("name"), and which "role": ${ROLES.join(', ')}.`;
        throw new RequestError('missing_parameters', message);
      }
      const wish = { name: own, role, days: body.days ?? null };
      const { id, token, outcome } = await tokens.create(wish, actorOf(caller));
      if (outcome.kind === 'refused') return refusalReply(outcome);
      return json({ id, token });
    },
  });
}

function revokeRoute(tokens: Tokens): Route {
  return defineRoute({
    name: 'admin_token_revoke',
    methods: ['POST'],
    paths: ['/api/admin/tokens/revoke'],
    access: 'admin',
    summary: 'Make a token worthless, by its id or its name',
    body: z.object({ id: name }),
    answer: { kind: 'json', schema: z.object({ revoked: z.int() }) },
    errors: ['missing_parameters', 'token_not_found'],
    handle: async ({ body, caller }) => {
      if (body.id === undefined) throw new RequestError('missing_parameters', 'Say which token: "id".');
      return countReply('revoked', await tokens.revoke(body.id, actorOf(caller)));
    },
  });
}
