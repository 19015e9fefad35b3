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
  .meta({
    type: ['integer', 'string'],
    minimum: 1,
    maximum: MAX_DAYS,
    pattern: '^(never|0*([1-9]\\d{0,2}|[12]\\d{3}|3[0-5]\\d{2}|36[0-4]\\d|3650))$',
    description: `How many days it counts, or "never" for no end; ${DEFAULT_TOKEN_DAYS} unless told.`,
  });

const tokenObject = z
  .object({
    id: told(z.string(), 'The id of the token, which is not secret.'),
    kind: told(
      z.enum(['auth', 'session', 'api']),
      'From `/auth`, of a browser, or made by an administrator.',
    ),
    account: told(z.string().nullable(), 'Whose account it stands for.'),
    name: told(z.string().nullable(), 'What it is for.'),
    role: told(z.enum(ROLES), 'What it may do.'),
    issued_at: told(z.string(), 'Since when there is the token, UTC.'),
    used_at: told(z.string().nullable(), 'When it was used last, to the hour, UTC; null: never.'),
    expires_at: told(z.string().nullable(), 'When it ends, UTC; null: never.'),
    restriction: told(
      z.enum(['until_set_up', 'password_only']).nullable(),
      'It ends with the setup, or can only replace the one-time password.',
    ),
    is_alive: told(z.boolean(), 'Whether it still counts.'),
  })
  .meta({ id: 'Token', description: 'What stands for a person or a program, without its secret.' });

const createdObject = tokenObject.pick({ id: true, expires_at: true, restriction: true }).extend({
  token: told(z.string(), 'The token itself, told only now.'),
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
    summary: 'Make a token with a name, a role and an end; it is told only now',
    body: z
      .object({ name: told(name, 'What it is for.'), role: roleField, days })
      .meta({ required: ['name', 'role'], examples: [{ name: 'build server', role: 'user', days: 90 }] }),
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
    body: z.object({ id: told(name, 'Its id or its name.') }).meta({ required: ['id'] }),
    answer: { kind: 'json', schema: z.object({ revoked: told(z.int(), 'How many tokens.') }) },
    errors: ['missing_parameters', 'token_not_found'],
    handle: async ({ body, caller }) => {
      if (body.id === undefined) throw new RequestError('missing_parameters', 'Say which token: "id".');
      return countReply('revoked', await tokens.revoke(body.id, actorOf(caller)));
    },
  });
}
