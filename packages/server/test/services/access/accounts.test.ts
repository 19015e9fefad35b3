import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { PASSWORD_COST } from '../../../../../test/support/administrator.ts';
import { createAdministrator, openTestStore, readEvents } from '../../../../../test/support/test-app.ts';
import { type Accounts, createAccounts, FIRST_ADMINISTRATOR } from '../../../src/services/access/accounts.ts';
import {
  checkPassword,
  generatePassword,
  hashPassword,
  makeOneTimePassword,
} from '../../../src/services/access/passwords.ts';
import { makeToken } from '../../../src/services/access/tokens.ts';

const OWN = 'a password of my own';

async function openAccounts(t: Parameters<typeof openTestStore>[0], passwordCost?: number) {
  const { store, clock } = await openTestStore(t);
  const accounts = createAccounts(store, { ...clock, passwordCost });
  return { store, clock, accounts, password: await createAdministrator(accounts) };
}

function signIn(accounts: Accounts, name: string, password: string): Promise<string | null> {
  return accounts.signIn({ name, password, address: '10.0.0.1' });
}

describe('the first administrator', () => {
  test('is created once, with a password that is shown once and stored as a hash', async (t) => {
    const { store, accounts, password } = await openAccounts(t);
    assert.match(password, /^([a-hjkmnp-z2-9]{5}-){4}[a-hjkmnp-z2-9]{5}$/);
    assert.equal(await createAdministrator(accounts), '', 'the second start shows nothing');
    const account = await store.read({ kind: 'find_account', name: FIRST_ADMINISTRATOR });
    assert.match(account?.passwordHash ?? '', /^scrypt\$2\$1\$1\$/);
    assert.equal(account?.oneTime?.isUsed, false);
    assert.deepEqual(await readEvents(store), [
      { kind: 'account_created', account: 'admin', role: 'admin', by: 'server' },
    ]);
  });

  test('is created once by servers that start together; only the working password is shown', async (t) => {
    const { store, clock } = await openTestStore(t);
    const options = { ...clock, passwordCost: PASSWORD_COST };
    const servers = [createAccounts(store, options), createAccounts(store, options)];
    const told = (await Promise.all(servers.map(createAdministrator))).filter((password) => password !== '');
    assert.equal(told.length, 1);
    for (const server of servers) assert.ok(await signIn(server, FIRST_ADMINISTRATOR, told[0] ?? ''));
  });

  test('is not created again after it was removed in favour of another', async (t) => {
    const { accounts } = await openAccounts(t, PASSWORD_COST);
    await accounts.add({ name: 'ada', role: 'admin', password: OWN }, 'test');
    await accounts.remove(FIRST_ADMINISTRATOR, 'test');
    assert.equal(await createAdministrator(accounts), '');
  });

  test('has not finished setup while the password is the generated one', async (t) => {
    const { accounts, password } = await openAccounts(t, PASSWORD_COST);
    assert.equal(await accounts.isBeingSetUp(), true);
    const change = { account: 'admin', newPassword: OWN, address: '', keptToken: null };
    await assert.rejects(accounts.changePassword({ ...change, oldPassword: OWN }, 'test'), /old password/);
    const same = { ...change, oldPassword: password, newPassword: password };
    await assert.rejects(accounts.changePassword(same, 'test'), /must differ from the old one/);
    const short = { ...change, oldPassword: password, newPassword: 'eleven char' };
    await assert.rejects(accounts.changePassword(short, 'test'), /12 to 256/);
    assert.equal(await accounts.isBeingSetUp(), true);
    await accounts.changePassword({ ...change, oldPassword: password }, 'test');
    assert.equal(await accounts.isBeingSetUp(), false);
    assert.equal(await signIn(accounts, 'admin', password), null);
    assert.ok(await signIn(accounts, 'admin', OWN));
  });
});

describe('an account', () => {
  test('gets the given password, or a generated one that is shown', async (t) => {
    const { accounts } = await openAccounts(t, PASSWORD_COST);
    const given = await accounts.add({ name: 'ada', role: 'user', password: OWN }, 'test');
    assert.deepEqual(given, { kind: 'password_set', oneTimePassword: null });
    const made = await accounts.add({ name: 'bob', role: 'user', password: null }, 'test');
    assert.ok(made.kind === 'password_set' && made.oneTimePassword !== null);
    assert.ok(await signIn(accounts, 'bob', made.oneTimePassword));
    const users = (await accounts.list()).map(({ name, role, oneTime }) => [name, role, oneTime?.isUsed]);
    assert.deepEqual(users, [
      ['ada', 'user', undefined],
      ['admin', 'admin', false],
      ['bob', 'user', true],
    ]);
  });

  for (const name of ['local', 'Control', 'a:b', 'a b', '', ' ada', '-x', 'x'.repeat(65), 'token ci']) {
    test(`is not called "${name}"`, async (t) => {
      const { accounts } = await openAccounts(t, PASSWORD_COST);
      await assert.rejects(
        accounts.add({ name, role: 'user', password: OWN }, 'test'),
        /not a valid account name/,
      );
    });
  }
});

describe('a token', () => {
  test('is different each time, and never looks like an option of a program', () => {
    const many = new Set(Array.from({ length: 1000 }, makeToken));
    assert.equal(many.size, 1000);
    assert.ok([...many].every((token) => /^\w[\w-]{42}$/.test(token)));
  });

  test('is random, belongs to its account and is stored as a hash', async (t) => {
    const { store, accounts, password } = await openAccounts(t, PASSWORD_COST);
    const token = (await signIn(accounts, 'admin', password)) ?? '';
    assert.notEqual(await signIn(accounts, 'admin', password), token);
    const holder = await accounts.tokens.find(token);
    assert.deepEqual([holder?.name, holder?.role, holder?.kind], ['admin', 'admin', 'auth']);
    const tokenHash = createHash('sha256').update(token).digest('hex');
    assert.equal((await store.read({ kind: 'find_token', tokenHash }))?.token.account, 'admin');
    assert.equal(await store.read({ kind: 'find_token', tokenHash: token }), null);
    assert.equal(await accounts.tokens.find(tokenHash), null, 'the hash is no token');
  });

  test('is not given for a wrong password or an unknown account', async (t) => {
    const { accounts, password } = await openAccounts(t, PASSWORD_COST);
    assert.equal(await signIn(accounts, 'admin', `${password}x`), null);
    assert.equal(await signIn(accounts, 'nobody', password), null);
    assert.equal(await accounts.tokens.find('x'.repeat(43)), null);
  });

  test('ends at its time, when it is revoked and when its account is removed, at once', async (t) => {
    const { accounts, clock } = await openAccounts(t, PASSWORD_COST);
    const { token } = await accounts.tokens.create({ name: 'ci', role: 'user', days: 1 }, 'test');
    assert.equal((await accounts.tokens.find(token))?.name, 'ci');
    clock.advance(24 * 60 * 60 * 1000 - 1);
    assert.ok(await accounts.tokens.find(token));
    clock.advance(1);
    assert.equal(await accounts.tokens.find(token), null, 'although it was looked up a moment ago');
    await accounts.add({ name: 'ada', role: 'user', password: OWN }, 'test');
    const ada = (await signIn(accounts, 'ada', OWN)) ?? '';
    assert.equal((await accounts.tokens.find(ada))?.role, 'user');
    await accounts.setRole('ada', { role: 'operator' }, 'test');
    assert.equal((await accounts.tokens.find(ada))?.role, 'operator');
    await accounts.remove('ada', 'test');
    assert.equal(await accounts.tokens.find(ada), null);
    const lab = await accounts.tokens.create({ name: 'lab', role: 'user', days: null }, 'test');
    assert.ok(await accounts.tokens.find(lab.token));
    await accounts.tokens.revoke('lab', 'test');
    assert.equal(await accounts.tokens.find(lab.token), null);
  });
});

describe('a password', () => {
  test('is checked against its hash, however its letters are encoded', async () => {
    const hash = await hashPassword('pässword');
    assert.equal(await checkPassword('pa\u0308ssword', hash, 'x'), true);
    assert.equal(await checkPassword('passwort', hash, 'x'), false);
    assert.equal(await checkPassword('P\u00e4ssword', hash, 'x'), false, 'a chosen one has its case');
    assert.equal(await checkPassword('', hash, 'x'), false);
  });

  test('is checked against its hash if it was generated', async () => {
    const { password, passwordHash } = makeOneTimePassword();
    assert.equal(await checkPassword(password, passwordHash, 'x'), true);
    assert.equal(await checkPassword(password.toUpperCase(), passwordHash, 'x'), true);
    assert.equal(await checkPassword(generatePassword(), passwordHash, 'x'), false);
  });

  test('is hashed slowly if a person chose it', async () => {
    assert.match(await hashPassword('x'), /^scrypt\$32768\$8\$1\$/);
  });

  test('never matches an account that does not exist', async () => {
    assert.equal(await checkPassword('', null, 'x'), false);
  });

  test('has a different hash each time', async () => {
    assert.notEqual(await hashPassword('x', PASSWORD_COST), await hashPassword('x', PASSWORD_COST));
  });

  test('is different each time it is generated', () => {
    const many = new Set(Array.from({ length: 100 }, generatePassword));
    assert.equal(many.size, 100);
  });
});
