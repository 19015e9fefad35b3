import { name, positiveInteger } from '@berth/protocol/fields';
import { z } from 'zod';
import { LIMITS } from '../../../config.ts';
import { plus } from '../../../core/instant.ts';
import { ROLES } from '../../../core/role.ts';
import type { Shown } from '../../../core/system-command.ts';
import { DEFAULT_TOKEN_DAYS, isTokenAlive, SESSION_LIFETIME_MS } from '../../../core/token.ts';
import { RequestError } from '../../../services/request-error.ts';
import type { Tokens } from '../../../services/tokens.ts';
import { actorOf, type Caller } from '../../caller.ts';
import { countReply } from '../../count-reply.ts';
import { refusalReply } from '../../problem.ts';
import { json } from '../../reply.ts';
import { defineRoute, type Route } from '../../route.ts';
import { toWire } from '../../to-wire.ts';
import { roleField } from './users.ts';

/** Longer than anybody remembers what a token was for. */
const MAX_DAYS = 3650;

const days = z
  .union(
    [
      z.literal('never'),
      positiveInteger.refine((count) => count === undefined || count <= MAX_DAYS, {
        error: `must not be more than ${MAX_DAYS}`,
      }),
    ],
    { error: `must be "never", or a number of days from 1 to ${MAX_DAYS}` },
  )
  .optional()
  .meta({ description: `how long it counts, or "never" for no end; ${DEFAULT_TOKEN_DAYS} unless told` });

const tokenObject = z.object({
  id: z.string(),
  kind: z.enum(['auth', 'session', 'api']),
  account: z.string().nullable(),
  name: z.string().nullable(),
  role: z.enum(ROLES),
  issued_at: z.string(),
  used_at: z.string().nullable().meta({ description: 'the last use, to the hour; null: it was never used' }),
  expires_at: z.string().nullable(),
  restriction: z
    .enum(['until_set_up', 'password_only'])
    .nullable()
    .meta({ description: 'it ends with the setup, or can only replace the one-time password' }),
  is_alive: z.boolean(),
});

const createdObject = tokenObject.pick({ id: true, expires_at: true, restriction: true }).extend({
  token: z.string(),
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
  const { id, kind, account, name: own, role, issuedAt, restriction } = token;
  const usedAt = token.isUsed ? token.usedAt : null;
  const expiresAt = kind === 'session' ? plus(issuedAt, SESSION_LIFETIME_MS) : token.expiresAt;
  const isAlive = isTokenAlive(token, now);
  return toWire({ id, kind, account, name: own, role, issuedAt, usedAt, expiresAt, restriction, isAlive });
}

function createRoute(tokens: Tokens): Route {
  return defineRoute({
    name: 'admin_token_create',
    methods: ['POST'],
    paths: ['/api/admin/tokens/create'],
    access: 'admin',
    summary: 'Make a token with a name, a role and an end; it is told only now',
    body: z.object({ name, role: roleField, days }),
    answer: { kind: 'json', schema: createdObject },
    errors: ['missing_parameters', 'token_exists', 'unauthorized'],
    handle: async ({ body, caller }) => {
      const { name: own, role } = body;
      if (own === undefined || role === undefined) {
        const message = `Say what the token is for ("name"), and which "role": ${ROLES.join(', ')}.`;
        throw new RequestError('missing_parameters', message);
      }
      const count = body.days ?? DEFAULT_TOKEN_DAYS;
      const wish = { name: own, role, days: count === 'never' ? null : count, shown: shownBy(caller) };
      const { id, token, kept, outcome } = await tokens.create(wish, actorOf(caller));
      if (outcome.kind === 'refused') return refusalReply(outcome);
      const { expiresAt = null, restriction = null } = kept ?? {};
      return json({ id, token, ...toWire({ expiresAt, restriction }) });
    },
  });
}

function shownBy({ kind }: Caller): Shown {
  if (kind === 'control') return 'socket';
  return kind === 'local' ? 'nothing' : 'credentials';
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
