import { NEW_PASSWORD } from '@berth/protocol/api/passwords';
import { name, secret, told } from '@berth/protocol/fields';
import { z } from 'zod';
import { oneTimeUntil as untilOf } from '../../../core/access/one-time-password.ts';
import { ROLES } from '../../../core/access/role.ts';
import type { Refused } from '../../../core/outcome.ts';
import type { Accounts, PasswordSet } from '../../../services/access/accounts.ts';
import { RequestError } from '../../../services/request-error.ts';
import { actorOf, type Caller } from '../../access/caller.ts';
import { countReply } from '../../reply/count-reply.ts';
import { refusalReply } from '../../reply/problem.ts';
import { json, type Reply } from '../../reply/reply.ts';
import { toWire } from '../../reply/to-wire.ts';
import { defineRoute, type Route } from '../../route.ts';

/** One of the roles; `undefined`: the caller gave none. */
export const roleField = told(
  z.enum(ROLES, { error: `must be one of ${ROLES.join(', ')}` }).optional(),
  'What it may do.',
);

const account = told(name, 'The name of the account.');

const userObject = z
  .object({
    name: told(z.string(), 'The name of the account.'),
    role: told(z.enum(ROLES), 'What it may do.'),
    one_time_password: told(z.boolean(), 'Whether it has a one-time password, which must be replaced.'),
    one_time_until: told(z.string().nullable(), 'When a one-time password expires, UTC.'),
    created_at: told(z.string(), 'When the account was created, UTC.'),
  })
  .meta({ id: 'Account', description: 'An account.' });

const passwordSet = z
  .object({
    name: told(z.string(), 'The name of the account.'),
    password: told(z.string().nullable(), 'The generated password, which is returned only once.'),
  })
  .meta({ id: 'AccountPassword', description: 'An account whose password was set.' });

export function userRoutes(accounts: Accounts): readonly Route[] {
  return [
    listRoute(accounts),
    addRoute(accounts),
    passwordRoute(accounts),
    roleRoute(accounts),
    removeRoute(accounts),
  ];
}

function listRoute(accounts: Accounts): Route {
  return defineRoute({
    name: 'admin_users',
    methods: ['GET'],
    paths: ['/api/admin/users'],
    access: 'operator',
    summary: 'The accounts and their roles',
    answer: { kind: 'json', schema: z.object({ users: told(z.array(userObject), 'All of them.') }) },
    errors: [],
    handle: async () => json({ users: (await accounts.list()).map(presentUser) }),
  });
}

type Listed = Awaited<ReturnType<Accounts['list']>>[number];

function presentUser({ name: user, role, oneTime, createdAt }: Listed) {
  const oneTimeUntil = oneTime === null ? null : untilOf(oneTime);
  return toWire({ name: user, role, oneTimePassword: oneTime !== null, oneTimeUntil, createdAt });
}

function addRoute(accounts: Accounts): Route {
  return defineRoute({
    name: 'admin_user_add',
    methods: ['POST'],
    paths: ['/api/admin/users/add'],
    access: 'admin',
    takesPassword: true,
    summary: 'Add an account; without a password the server generates one and returns it once',
    body: z
      .object({
        name: account,
        role: roleField,
        password: secret.meta({ ...NEW_PASSWORD, description: 'Its password.' }),
      })
      .meta({ required: ['name', 'role'] }),
    answer: { kind: 'json', schema: passwordSet },
    errors: ['missing_parameters', 'account_exists', 'too_many_requests'],
    handle: async ({ body, caller }) => {
      const user = requireName(body);
      if (body.role === undefined) {
        throw new RequestError('missing_parameters', `"role" is missing. Send one of ${ROLES.join(', ')}.`);
      }
      const wish = { name: user, role: body.role, password: body.password ?? null };
      return passwordReply(user, await accounts.add(wish, actorOf(caller)));
    },
  });
}

function passwordRoute(accounts: Accounts): Route {
  return defineRoute({
    name: 'admin_user_password',
    methods: ['POST'],
    paths: ['/api/admin/users/password'],
    access: 'admin',
    takesPassword: true,
    summary: 'Set the password of another account, and end its sessions',
    body: z
      .object({
        name: account,
        password: secret.meta({ ...NEW_PASSWORD, description: 'If missing, the server generates one.' }),
      })
      .meta({ required: ['name'] }),
    answer: { kind: 'json', schema: passwordSet },
    errors: ['missing_parameters', 'account_not_found', 'too_many_requests'],
    handle: async ({ body, caller }) => {
      const user = requireName(body);
      requireAnother(user, caller);
      return passwordReply(user, await accounts.setPassword(user, body.password ?? null, actorOf(caller)));
    },
  });
}

/** An unattended session must not be enough to take over its account. */
function requireAnother(user: string, { holder }: Caller): void {
  if (holder?.account !== user) return;
  throw new RequestError(
    'forbidden',
    'Change your own password with /api/v4/setPassword, which requires the old one.',
  );
}

function roleRoute(accounts: Accounts): Route {
  return defineRoute({
    name: 'admin_user_role',
    methods: ['POST'],
    paths: ['/api/admin/users/role'],
    access: 'admin',
    summary: 'Change the role of an account at once',
    body: z.object({ name: account, role: roleField }).meta({ required: ['name', 'role'] }),
    answer: { kind: 'json', schema: z.object({ changed: told(z.int(), 'How many accounts.') }) },
    errors: ['missing_parameters', 'account_not_found', 'last_administrator'],
    handle: async ({ body, caller }) => {
      const user = requireName(body);
      if (body.role === undefined) {
        throw new RequestError('missing_parameters', `"role" is missing. Send one of ${ROLES.join(', ')}.`);
      }
      return countReply(await accounts.setRole(user, body.role, actorOf(caller)), (changed) =>
        json({ changed }),
      );
    },
  });
}

function removeRoute(accounts: Accounts): Route {
  return defineRoute({
    name: 'admin_user_remove',
    methods: ['POST'],
    paths: ['/api/admin/users/remove'],
    access: 'admin',
    summary: 'Remove an account and end its sessions',
    body: z.object({ name: account }).meta({ required: ['name'] }),
    answer: { kind: 'json', schema: z.object({ removed: told(z.int(), 'How many accounts.') }) },
    errors: ['missing_parameters', 'account_not_found', 'last_administrator'],
    handle: async ({ body, caller }) =>
      countReply(await accounts.remove(requireName(body), actorOf(caller)), (removed) => json({ removed })),
  });
}

function requireName({ name: user }: { readonly name?: string | undefined }): string {
  if (user === undefined)
    throw new RequestError('missing_parameters', '"name" is missing. Send the name of the account.');
  return user;
}

function passwordReply(user: string, outcome: PasswordSet | Refused): Reply {
  if (outcome.kind === 'refused') return refusalReply(outcome);
  return json({ name: user, password: outcome.oneTimePassword });
}
