import { name, positiveInteger, told } from '@berth/protocol/fields';
import { z } from 'zod';
import { LIMITS } from '../../../config.ts';
import { ROLES } from '../../../core/access/role.ts';
import { DEFAULT_TOKEN_DAYS, isTokenAlive, SESSION_LIFETIME_MS } from '../../../core/access/token.ts';
import { plus } from '../../../core/nouns/instant.ts';
import type { Shown } from '../../../core/system-command.ts';
import type { Tokens } from '../../../services/access/tokens.ts';
import { RequestError } from '../../../services/request-error.ts';
import { actorOf, type Caller } from '../../access/caller.ts';
import { countReply } from '../../reply/count-reply.ts';
import { refusalReply } from '../../reply/problem.ts';
import { json } from '../../reply/reply.ts';
import { toWire } from '../../reply/to-wire.ts';
import { defineRoute, type Route } from '../../route.ts';
import { roleField } from './users.ts';

/** Ten years: longer than a token should live. */
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
  .meta({
    type: ['integer', 'string'],
    minimum: 1,
    maximum: MAX_DAYS,
    pattern: '^(never|0*([1-9]\\d{0,2}|[12]\\d{3}|3[0-5]\\d{2}|36[0-4]\\d|3650))$',
    description: `Days until it expires, or "never"; ${DEFAULT_TOKEN_DAYS} by default.`,
  });

const tokenObject = z
  .object({
    id: told(z.string(), 'The id of the token, which is not secret.'),
    kind: told(
      z.enum(['auth', 'session', 'api']),
      'From `/auth`, of a browser, or created by an administrator.',
    ),
    account: told(z.string().nullable(), 'The account it belongs to.'),
    name: told(z.string().nullable(), 'What it is for.'),
    role: told(z.enum(ROLES), 'What it may do.'),
    issued_at: told(z.string(), 'When the token was created, UTC.'),
    used_at: told(z.string().nullable(), 'When it was last used, to the hour, UTC; null if never.'),
    expires_at: told(z.string().nullable(), 'When it expires, UTC; null if never.'),
    restriction: told(
      z.enum(['until_set_up', 'password_only']).nullable(),
      'It expires at the end of setup, or can only replace the one-time password.',
    ),
    is_alive: told(z.boolean(), 'Whether it is still valid.'),
  })
  .meta({ id: 'Token', description: 'A token of a person or a program, without its value.' });

const createdObject = tokenObject.pick({ id: true, expires_at: true, restriction: true }).extend({
  token: told(z.string(), 'The token itself, which is returned only once.'),
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
    summary: 'The newest thousand tokens, without their values',
    answer: { kind: 'json', schema: z.object({ tokens: told(z.array(tokenObject), 'The newest of them.') }) },
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
    summary: 'Create a token with a name, a role and an expiry; it is returned only once',
    body: z
      .object({ name: told(name, 'What it is for.'), role: roleField, days })
      .meta({ required: ['name', 'role'], examples: [{ name: 'build server', role: 'user', days: 90 }] }),
    answer: { kind: 'json', schema: createdObject },
    errors: ['missing_parameters', 'token_exists', 'unauthorized'],
    handle: async ({ body, caller }) => {
      const { name: own, role } = body;
      if (own === undefined || role === undefined) {
        const message = `Send what the token is for as "name", and a "role": ${ROLES.join(', ')}.`;
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
    summary: 'Revoke a token by its id or name',
    body: z.object({ id: told(name, 'Its id or its name.') }).meta({ required: ['id'] }),
    answer: { kind: 'json', schema: z.object({ revoked: told(z.int(), 'How many tokens.') }) },
    errors: ['missing_parameters', 'token_not_found'],
    handle: async ({ body, caller }) => {
      if (body.id === undefined)
        throw new RequestError(
          'missing_parameters',
          '"id" is missing. Send the id or the name of the token.',
        );
      return countReply(await tokens.revoke(body.id, actorOf(caller)), (revoked) => json({ revoked }));
    },
  });
}
