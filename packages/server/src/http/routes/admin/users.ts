import { USER_API } from '@berth/protocol/admin/users';
import { RequestError } from '@berth/protocol/request-error';
import { oneTimeUntil as untilOf } from '../../../core/access/one-time-password.ts';
import type { Accounts } from '../../../services/access/accounts.ts';
import type { Caller } from '../../access/caller.ts';
import { adminRoutes } from '../../admin-route.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { MustConfirm, Route, RouteInput } from '../../route.ts';

export function userRoutes(accounts: Accounts): readonly Route[] {
  const isOfAdministrator = concernsAdministrator(accounts);
  return adminRoutes(USER_API, {
    'GET /api/admin/users': {
      name: 'admin_users',
      access: 'viewer',
      summary: 'The accounts and their roles',
      handle: async (_, send) => send({ users: (await accounts.list()).map(presentUser) }),
    },
    'POST /api/admin/users/add': {
      name: 'admin_user_add',
      access: 'admin',
      mustConfirm: makesAdministrator,
      takesPassword: true,
      summary: 'Add an account; without a password the server generates one and returns it once',
      errors: ['account_exists', 'too_many_requests'],
      handle: async ({ body, caller }, send) => {
        const { name, role, products, password = null } = body;
        const outcome = await accounts.add({ name, role, products, password }, caller.actor);
        if (outcome.kind === 'refused') return outcome;
        return send({ name, password: outcome.oneTimePassword });
      },
    },
    'POST /api/admin/users/password': {
      name: 'admin_user_password',
      access: 'admin',
      mustConfirm: isOfAdministrator,
      takesPassword: true,
      summary: 'Set the password of another account, and end its sessions',
      errors: ['account_not_found', 'too_many_requests'],
      handle: async ({ body: { name, password = null }, caller }, send) => {
        requireAnother(name, caller, OWN_PASSWORD);
        const outcome = await accounts.setPassword(name, password, caller.actor);
        if (outcome.kind === 'refused') return outcome;
        return send({ name, password: outcome.oneTimePassword });
      },
    },
    'POST /api/admin/users/role': {
      name: 'admin_user_role',
      access: 'admin',
      mustConfirm: (input) => makesAdministrator(input) || isOfAdministrator(input),
      summary: 'Change the role of an account, and the products of an operator, at once',
      errors: ['account_not_found', 'last_administrator'],
      handle: ({ body: { name, role, products }, caller }) =>
        accounts.setRole(name, { role, products }, caller.actor),
    },
    'POST /api/admin/users/remove': {
      name: 'admin_user_remove',
      access: 'admin',
      mustConfirm: isOfAdministrator,
      summary: 'Remove an account and end its sessions',
      errors: ['account_not_found', 'last_administrator'],
      handle: ({ body, caller }) => accounts.remove(body.name, caller.actor),
    },
    'POST /api/admin/users/remove-second-factor': {
      name: 'admin_user_remove_second_factor',
      access: 'admin',
      mustConfirm: isOfAdministrator,
      summary: 'Remove the second factor of another account, and end its sessions',
      errors: ['account_not_found'],
      handle: ({ body: { name }, caller }) => {
        requireAnother(name, caller, 'Turn off your own second factor with /api/admin/second-factor/remove.');
        return accounts.secondFactors.reset(name, caller.actor);
      },
    },
  });
}

const OWN_PASSWORD = 'Change your own password with /api/v4/setPassword, which requires the old one.';

/**
 * Another one: nobody changes their own account in this way. Whoever lowered their role, or removed and added
 * the account, could set a password and wait until it is an administrator's again.
 */
function concernsAdministrator(accounts: Accounts): MustConfirm {
  return async ({ body, caller }) =>
    caller.holder?.account !== body.name &&
    (await accounts.list()).some(({ name, role }) => name === body.name && role === 'admin');
}

/** Whoever made one could sign in as that administrator, and confirm everything. */
function makesAdministrator({ body }: Pick<RouteInput, 'body'>): boolean {
  return body.role === 'admin';
}

type Listed = Awaited<ReturnType<Accounts['list']>>[number];

function presentUser({ name: user, role, products, oneTime, secondFactor, createdAt }: Listed) {
  const oneTimeUntil = oneTime === null ? null : untilOf(oneTime);
  const own = { name: user, role, products, oneTimePassword: oneTime !== null, oneTimeUntil };
  return toWire({ ...own, secondFactor: secondFactor !== null, createdAt });
}

/** An unattended session must not be enough to take over its account. */
function requireAnother(user: string, { holder }: Caller, message: string): void {
  if (holder?.account === user) throw new RequestError('forbidden', message);
}
