import { formatTable } from '@berth/protocol/console/console-text';
import type { CallOf } from '@berth/protocol/console/hints';
import { suggest } from '@berth/protocol/console/suggest';
import { ROLES } from '../core/access/role.ts';
import type { AdminAnswer, AdminClient } from './admin-client.ts';
import type { Command, Flags } from './command.ts';
import { InputError } from './read-secrets.ts';

type Facts = Readonly<Record<string, unknown>>;

const askPassword = (flags: Flags) => (flags['one-time'] ? [] : [{ text: 'new password', isNew: true }]);

/** Before anybody types a password for an account that cannot be made. */
function requireRole({ role = '' }: Flags): string {
  if (ROLES.some((known) => known === role)) return role;
  throw new InputError(`"role" must be one of ${ROLES.join(', ')}, not "${role}".${suggest(role, ROLES)}`);
}

/** Who may come in: people with a password, programs with a token. */
export const USER_COMMANDS: readonly Command[] = [
  {
    words: 'user list',
    about: 'the accounts and their roles',
    ask: (client) => client.get('/api/admin/users'),
    show: showUsers,
  },
  {
    words: 'user add',
    arguments: ['NAME'],
    usage: '--role ROLE [--one-time]',
    about: 'make an account: user, operator or admin; standard input has its password',
    reads: (flags) => {
      requireRole(flags);
      return askPassword(flags);
    },
    precheck: async (client, [name]) =>
      (await hasAccount(client, name)) === true
        ? refused('account_exists', `There is already an account "${name}".`)
        : null,
    ask: async (client, [name], { role }, [password]) =>
      withFacts(await client.post('/api/admin/users/add', { name, role, ...given(password) }), { role }),
    show: (body: PasswordAnswer & { role: string }) =>
      `Created the account "${body.name}" with the role ${body.role}.\n${showPassword(body)}`,
  },
  {
    words: 'user password',
    arguments: ['NAME'],
    usage: '[--one-time]',
    about: 'replace a password; --one-time lets the server make one up and tell it once',
    reads: askPassword,
    precheck: async (client, [name]) =>
      (await hasAccount(client, name)) === false
        ? refused('account_not_found', `There is no account "${name}".`)
        : null,
    ask: async (client, [name], _, [password]) => {
      const answer = await client.post('/api/admin/users/password', { name, ...given(password) });
      return answer.ok ? withOthers(answer, await client.get('/api/admin/users')) : answer;
    },
    show: (body: PasswordAnswer & { others: readonly Facts[] }, callOf) =>
      showPassword(body) + showOthers(body, callOf),
  },
  {
    words: 'user role',
    arguments: ['NAME'],
    usage: '--role ROLE',
    about: 'give an account another role',
    ask: async (client, [name], flags) => {
      const role = requireRole(flags);
      return withFacts(await client.post('/api/admin/users/role', { name, role }), { name, role });
    },
    show: ({ changed, name, role }: { changed: number; name: string; role: string }) =>
      `"${name}" has the role ${role} ${changed === 0 ? 'already' : 'now'}.`,
  },
  {
    words: 'user remove',
    arguments: ['NAME'],
    about: 'remove an account, and sign it out everywhere',
    ask: async (client, [name]) =>
      withFacts(await client.post('/api/admin/users/remove', { name }), { name }),
    show: ({ name }: { name: string }) => `Removed the account "${name}" and signed it out everywhere.`,
  },
  {
    words: 'token list',
    about: 'the tokens, never what they are',
    ask: (client) => client.get('/api/admin/tokens'),
    show: showTokens,
  },
  {
    words: 'token create',
    arguments: ['NAME'],
    usage: '--role ROLE [--days N|never]',
    about: 'make a token for a program; it is told only now, and ends after 365 days unless told',
    ask: async (client, [name], flags) => {
      const role = requireRole(flags);
      return client.post('/api/admin/tokens/create', { name, role, days: flags.days });
    },
    show: ({ id, token, expires_at }: CreatedToken) =>
      `${token}\nThis is token ${id}. It is shown only now: send it as "Authorization: Bearer TOKEN". ` +
      (expires_at === null ? 'It has no end.' : `It ends at ${expires_at}.`),
  },
  {
    words: 'token revoke',
    arguments: ['ID'],
    about: 'revoke a token, by its id or its name',
    ask: async (client, [id]) => withFacts(await client.post('/api/admin/tokens/revoke', { id }), { id }),
    show: ({ id }: { id: string }) => `Revoked the token "${id}".`,
  },
];

interface CreatedToken {
  readonly id: string;
  readonly token: string;
  readonly expires_at: string | null;
}

/** `null`: the server does not tell, and will say why when it is asked to do something. */
async function hasAccount(client: AdminClient, name: string | undefined): Promise<boolean | null> {
  const { ok, body } = await client.get('/api/admin/users');
  return ok ? (body as { users: readonly Facts[] }).users.some((user) => user.name === name) : null;
}

function refused(code: string, message: string): AdminAnswer {
  return { ok: false, body: { status: 400, code, message } as never };
}

/** The answer with what was asked for, so that it can be said. */
function withFacts(answer: AdminAnswer, facts: Facts): AdminAnswer {
  return answer.ok ? { ...answer, body: { ...(answer.body as Facts), ...facts } as never } : answer;
}

/** An empty line is not the wish for a password that is made up. */
function given(password: string | undefined): { readonly password?: string } {
  if (password === undefined) return {};
  if (password.trim() === '') throw new InputError('No password was given. Nothing was done.');
  return { password };
}

function showUsers({ users }: { users: readonly Facts[] }): string {
  const rows = users.map(({ name, role, one_time_until, created_at }) => [
    name,
    role,
    one_time_until === null ? 'own' : `one-time, until ${one_time_until}`,
    created_at,
  ]);
  return formatTable(['name', 'role', 'password', 'created at'], rows);
}

/**
 * The other accounts that can do more than a user. Whoever was on the machine during setup could make some,
 * so an administrator who gets a password is told of them.
 */
function withOthers(answer: AdminAnswer, list: AdminAnswer): AdminAnswer {
  const { name: own } = answer.body as PasswordAnswer;
  const { users = [] } = list.body as { users?: readonly Facts[] };
  const isAdministrator = users.some(({ name, role }) => name === own && role === 'admin');
  const others = users.filter(({ name, role }) => isAdministrator && name !== own && role !== 'user');
  return { ...answer, body: { ...(answer.body as Facts), others } as never };
}

function showOthers({ others }: { others: readonly Facts[] }, callOf: CallOf): string {
  if (others.length === 0) return '';
  const names = others.map(({ name, role }) => `${name} (${role})`).join(', ');
  return `\nOther accounts: ${names}. Remove those you do not know with "${callOf('user remove NAME')}".`;
}

interface PasswordAnswer {
  readonly name: string;
  readonly password: string | null;
}

function showPassword({ name, password }: PasswordAnswer): string {
  if (password === null) return `The password of "${name}" is set.`;
  return (
    `The one-time password of "${name}" is  ${password}\n` +
    'It is shown only now, signs in once, and has to be replaced within 7 days.'
  );
}

function showTokens({ tokens }: { tokens: readonly Facts[] }): string {
  if (tokens.length === 0) return 'No tokens.';
  const rows = tokens.map((token) => [
    token.id,
    token.kind,
    token.name ?? token.account,
    token.role,
    token.used_at ?? 'never',
    sayEnd(token),
  ]);
  return formatTable(['id', 'kind', 'of', 'role', 'last used', 'ends at'], rows);
}

function sayEnd({ is_alive, restriction, expires_at }: Facts): unknown {
  if (is_alive !== true) return 'ended';
  if (restriction === 'until_set_up') return 'with the setup';
  if (restriction === 'password_only') return 'only replaces the password';
  return expires_at ?? '';
}
