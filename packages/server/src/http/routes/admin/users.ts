import { ROLES } from '@berth/protocol/admin/choices';
import { type Role, USER_API } from '@berth/protocol/admin/users';
import { RequestError } from '@berth/protocol/request-error';
import type { Reply } from '@berth/web/reply';
import { oneTimeUntil as untilOf } from '../../../core/access/one-time-password.ts';
import type { Refused } from '../../../core/outcome.ts';
import type { Accounts, PasswordSet } from '../../../services/access/accounts.ts';
import type { Caller } from '../../access/caller.ts';
import { adminRoutes } from '../../admin-route.ts';
import { countReply } from '../../reply/count-reply.ts';
import { refusalReply } from '../../reply/problem.ts';
import { toWire } from '../../reply/to-wire.ts';
import type { MustConfirm, Route, RouteInput } from '../../route.ts';

export function userRoutes(accounts: Accounts): readonly Route[] {
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
      errors: ['missing_parameters', 'account_exists', 'too_many_requests'],
      handle: async ({ body, caller }, send) => {
        const wish = { ...requireAccount(body), products: body.products, password: body.password ?? null };
        return passwordReply(wish.name, await accounts.add(wish, caller.actor), send);
      },
    },
    'POST /api/admin/users/password': {
      name: 'admin_user_password',
      access: 'admin',
      mustConfirm: isOfAdministrator(accounts),
      takesPassword: true,
      summary: 'Set the password of another account, and end its sessions',
      errors: ['missing_parameters', 'account_not_found', 'too_many_requests'],
      handle: async ({ body, caller }, send) => {
        const user = requireName(body);
        requireAnother(user, caller, OWN_PASSWORD);
        const outcome = await accounts.setPassword(user, body.password ?? null, caller.actor);
        return passwordReply(user, outcome, send);
      },
    },
    'POST /api/admin/users/role': {
      name: 'admin_user_role',
      access: 'admin',
      mustConfirm: makesAdministrator,
      summary: 'Change the role of an account, and the products of an operator, at once',
      errors: ['missing_parameters', 'account_not_found', 'last_administrator'],
      handle: async ({ body, caller }, send) => {
        const { name, role } = requireAccount(body);
        const outcome = await accounts.setRole(name, { role, products: body.products }, caller.actor);
        return countReply(outcome, (changed) => send({ changed }));
      },
    },
    'POST /api/admin/users/remove': {
      name: 'admin_user_remove',
      access: 'admin',
      summary: 'Remove an account and end its sessions',
      errors: ['missing_parameters', 'account_not_found', 'last_administrator'],
      handle: async ({ body, caller }, send) =>
        countReply(await accounts.remove(requireName(body), caller.actor), (removed) => send({ removed })),
    },
    'POST /api/admin/users/remove-second-factor': {
      name: 'admin_user_remove_second_factor',
      access: 'admin',
      mustConfirm: isOfAdministrator(accounts),
      summary: 'Remove the second factor of another account, and end its sessions',
      errors: ['missing_parameters', 'account_not_found'],
      handle: async ({ body, caller }, send) => {
        const user = requireName(body);
        requireAnother(user, caller, 'Turn off your own second factor with /api/admin/second-factor/remove.');
        return countReply(await accounts.secondFactors.reset(user, caller.actor), (removed) =>
          send({ removed }),
        );
      },
    },
  });
}

const OWN_PASSWORD = 'Change your own password with /api/v4/setPassword, which requires the old one.';

/** Of another one: nobody changes their own in this way. */
function isOfAdministrator(accounts: Accounts): MustConfirm {
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

function requireName({ name: user }: { readonly name?: string | undefined }): string {
  if (user === undefined)
    throw new RequestError('missing_parameters', '"name" is missing. Send the name of the account.');
  return user;
}

function requireAccount({
  name,
  role,
}: {
  readonly name?: string | undefined;
  readonly role?: Role | undefined;
}) {
  const account = requireName({ name });
  if (role !== undefined) return { name: account, role };
  throw new RequestError('missing_parameters', `"role" is missing. Send one of ${ROLES.join(', ')}.`);
}

function passwordReply(
  name: string,
  outcome: PasswordSet | Refused,
  send: (answer: { readonly name: string; readonly password: string | null }) => Reply,
): Reply {
  if (outcome.kind === 'refused') return refusalReply(outcome);
  return send({ name, password: outcome.oneTimePassword });
}
