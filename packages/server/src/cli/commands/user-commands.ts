import type { GetAnswer, PostAnswer } from '@berth/protocol/admin/admin-api';
import { ROLES } from '@berth/protocol/admin/choices';
import { suggest } from '@berth/protocol/suggest';
import { formatTable } from '@berth/shell/console/console-text';
import type { CallOf } from '@berth/shell/console/hints';
import { type AdminClient, type RefusedAnswer, withFacts } from '../admin-client.ts';
import { type Command, defineCommand, type Flags } from '../command.ts';
import { InputError } from '../read-secrets.ts';
import { splitList } from './notify-commands.ts';

type Account = GetAnswer<'/api/admin/users'>['users'][number];
type Token = GetAnswer<'/api/admin/tokens'>['tokens'][number];
type PasswordAnswer = PostAnswer<'/api/admin/users/password'>;

const askPassword = (flags: Flags) => (flags['one-time'] ? [] : [{ text: 'new password', isNew: true }]);

/** Checked before anyone types a password. */
function requireRole({ role = '' }: Flags): Account['role'] {
  const found = ROLES.find((known) => known === role);
  if (found !== undefined) return found;
  throw new InputError(`--role must be one of ${ROLES.join(', ')}, not "${role}".${suggest(role, ROLES)}`);
}

/** Separated by commas; missing: all. */
function productsOf({ products }: Flags) {
  return { products: splitList(products) };
}

/** After the role of an operator who is limited. */
function sayProducts(products: readonly string[] | null | undefined): string {
  return products == null ? '' : ` for ${products.join(', ')}`;
}

/** Accounts for people, who have a password, and tokens for programs. */
export const USER_COMMANDS: readonly Command[] = [
  defineCommand({
    words: 'user list',
    about: 'list the accounts and their roles',
    ask: (client) => client.get('/api/admin/users'),
    show: showUsers,
  }),
  defineCommand({
    words: 'user add',
    arguments: ['NAME'],
    usage: '--role ROLE [--products A,B] [--one-time]',
    about:
      'add an account with the role user, viewer, operator or admin; standard input provides its password',
    reads: (flags) => {
      requireRole(flags);
      return askPassword(flags);
    },
    precheck: async (client, [name]) =>
      (await hasAccount(client, name)) === true
        ? refused('account_exists', `There is already an account "${name}".`)
        : null,
    ask: async (client, [name], flags, [password]) => {
      const role = requireRole(flags);
      const facts = { role, ...productsOf(flags) };
      return withFacts(
        await client.post('/api/admin/users/add', { name, ...facts, ...given(password) }),
        facts,
      );
    },
    show: (body) =>
      `Added account "${body.name}" with role ${body.role}${sayProducts(body.products)}.\n` +
      showPassword(body),
  }),
  defineCommand({
    words: 'user password',
    arguments: ['NAME'],
    usage: '[--one-time]',
    about: 'change a password; --one-time generates a one-time password and shows it',
    reads: askPassword,
    precheck: async (client, [name]) =>
      (await hasAccount(client, name)) === false
        ? refused('account_not_found', `There is no account "${name}".`)
        : null,
    ask: async (client, [name], _, [password]) => {
      const answer = await client.post('/api/admin/users/password', { name, ...given(password) });
      return answer.ok ? withFacts(answer, { others: await listOthers(client, answer.body) }) : answer;
    },
    show: (body, callOf) => showPassword(body) + showOthers(body, callOf),
  }),
  defineCommand({
    words: 'user role',
    arguments: ['NAME'],
    usage: '--role ROLE [--products A,B]',
    about: 'change the role of an account; --products limits an operator to products',
    ask: async (client, [name], flags) => {
      const role = requireRole(flags);
      const wish = { name, role, ...productsOf(flags) };
      return withFacts(await client.post('/api/admin/users/role', wish), wish);
    },
    show: ({ changed, name, role, products }) =>
      `"${name}" ${changed === 0 ? 'already has' : 'now has'} role ${role}${sayProducts(products)}.`,
  }),
  defineCommand({
    words: 'user remove',
    arguments: ['NAME'],
    about: 'remove an account and end its sessions',
    ask: async (client, [name]) =>
      withFacts(await client.post('/api/admin/users/remove', { name }), { name }),
    show: ({ name }) => `Removed account "${name}" and ended its sessions.`,
  }),
  defineCommand({
    words: 'user remove-second-factor',
    arguments: ['NAME'],
    about: 'remove the second factor of an account whose owner has lost the device, and end its sessions',
    ask: async (client, [name]) =>
      withFacts(await client.post('/api/admin/users/remove-second-factor', { name }), { name }),
    show: ({ removed, name }) =>
      removed === 0
        ? `"${name}" has no second factor.`
        : `Removed the second factor of "${name}" and ended its sessions.`,
  }),
  defineCommand({
    words: 'token list',
    about: 'list the tokens, without their values',
    ask: (client) => client.get('/api/admin/tokens'),
    show: showTokens,
  }),
  defineCommand({
    words: 'token create',
    arguments: ['NAME'],
    usage: '--role ROLE [--products A,B] [--days N|never]',
    about: 'create a token for a program; it is shown only once and expires after 365 days by default',
    ask: async (client, [name], flags) => {
      const role = requireRole(flags);
      return client.post('/api/admin/tokens/create', { name, role, ...productsOf(flags), days: flags.days });
    },
    show: ({ id, token, expires_at }) =>
      `${token}\nThis is token ${id}. It is shown only once. Send it as "Authorization: Bearer TOKEN". ` +
      (expires_at === null ? 'It does not expire.' : `It expires at ${expires_at}.`),
  }),
  defineCommand({
    words: 'token revoke',
    arguments: ['ID'],
    about: 'revoke a token by its id or name',
    ask: async (client, [id]) => withFacts(await client.post('/api/admin/tokens/revoke', { id }), { id }),
    show: ({ id }) => `Revoked token "${id}".`,
  }),
];

/** `null` if the server refuses to list accounts; the command itself then reports why. */
async function hasAccount(client: AdminClient, name: string | undefined): Promise<boolean | null> {
  const { ok, body } = await client.get('/api/admin/users');
  return ok ? body.users.some((user) => user.name === name) : null;
}

function refused(code: string, message: string): RefusedAnswer {
  return { ok: false, body: { status: 400, code, message } };
}

/** An empty line does not ask for a generated password. */
function given(password: string | undefined): { readonly password?: string } {
  if (password === undefined) return {};
  if (password.trim() === '') throw new InputError('The password is empty. Nothing was done.');
  return { password };
}

function showUsers({ users }: { readonly users: readonly Account[] }): string {
  const rows = users.map(({ name, role, products, one_time_until, second_factor, created_at }) => [
    name,
    role + sayProducts(products),
    one_time_until === null ? 'own' : `one-time, until ${one_time_until}`,
    second_factor ? 'yes' : 'no',
    created_at,
  ]);
  return formatTable(['name', 'role', 'password', 'second factor', 'created at'], rows);
}

/**
 * Lists the other accounts that see everything when an administrator's password changes: during setup,
 * any user of the machine could have added some.
 */
async function listOthers(client: AdminClient, { name: own }: PasswordAnswer): Promise<readonly Account[]> {
  const list = await client.get('/api/admin/users');
  const users = list.ok ? list.body.users : [];
  const isAdministrator = users.some(({ name, role }) => name === own && role === 'admin');
  return users.filter(({ name, role }) => isAdministrator && name !== own && role !== 'user');
}

function showOthers({ others }: { readonly others: readonly Account[] }, callOf: CallOf): string {
  if (others.length === 0) return '';
  const names = others.map(({ name, role }) => `${name} (${role})`).join(', ');
  return `\nOther accounts: ${names}. Remove those you do not know with "${callOf('user remove NAME')}".`;
}

function showPassword({ name, password }: PasswordAnswer): string {
  if (password === null) return `The password of "${name}" is set.`;
  return (
    `The one-time password of "${name}" is  ${password}\n` +
    'It is shown only once, works for one sign-in, and must be replaced within 7 days.'
  );
}

function showTokens({ tokens }: { readonly tokens: readonly Token[] }): string {
  if (tokens.length === 0) return 'No tokens.';
  const rows = tokens.map((token) => [
    token.id,
    token.kind,
    token.name ?? token.account,
    token.role + sayProducts(token.products),
    token.used_at ?? 'never',
    sayEnd(token),
  ]);
  return formatTable(['id', 'kind', 'of', 'role', 'last used', 'ends at'], rows);
}

function sayEnd({ is_alive, restriction, expires_at }: Token): string {
  if (!is_alive) return 'ended';
  if (restriction === 'until_set_up') return 'after setup';
  if (restriction === 'password_only') return 'can only change the password';
  return expires_at ?? '';
}
