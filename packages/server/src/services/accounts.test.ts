import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { createAdministrator, openTestStore, readEvents } from '../../../../test/support/test-app.ts';
import { createAccounts, FIRST_ADMINISTRATOR } from './accounts.ts';
import { checkPassword, hashPassword, makeUpPassword } from './passwords.ts';

describe('the first administrator', () => {
  test('is made once, with a password that is told once and kept as a hash', async (t) => {
    const { store } = await openTestStore(t);
    const accounts = createAccounts(store);
    const password = await createAdministrator(accounts);
    assert.match(password, /^([a-hjkmnp-z2-9]{5}-){4}[a-hjkmnp-z2-9]{5}$/);
    assert.equal(await createAdministrator(accounts), '', 'the second start shows nothing');
    const account = await store.read({ kind: 'find_account', name: FIRST_ADMINISTRATOR });
    assert.match(account?.passwordHash ?? '', /^scrypt\$32768\$8\$1\$/);
    assert.equal(account?.oneTime, true);
    assert.deepEqual(await readEvents(store), [
      { kind: 'account_created', account: 'admin', role: 'admin', by: 'server' },
    ]);
  });

  test('still has to set the server up as long as the password was made up by it', async (t) => {
    const { store } = await openTestStore(t);
    const accounts = createAccounts(store);
    assert.equal(await accounts.isBeingSetUp(), true, 'before there is an account at all');
    const own = { name: FIRST_ADMINISTRATOR, role: 'admin', passwordHash: 'x', by: 'test' } as const;
    await store.execute({ kind: 'create_account', ...own, oneTime: false });
    assert.equal(await accounts.isBeingSetUp(), false);
  });
});

describe('a token', () => {
  test('is random, belongs to its account and is kept as a hash', async (t) => {
    const { store } = await openTestStore(t);
    const accounts = createAccounts(store);
    const password = await createAdministrator(accounts);
    const token = (await accounts.signIn('admin', password, '10.0.0.1')) ?? '';
    assert.notEqual(await accounts.signIn('admin', password, '10.0.0.1'), token);
    assert.deepEqual(await accounts.findByToken(token), { name: 'admin', role: 'admin' });
    const tokenHash = createHash('sha256').update(token).digest('hex');
    assert.equal((await store.read({ kind: 'find_token', tokenHash }))?.account, 'admin');
    assert.equal(await store.read({ kind: 'find_token', tokenHash: token }), null);
    assert.equal(await accounts.findByToken(tokenHash), null, 'the hash is no token');
  });

  test('is not given for a wrong password, nor for nobody', async (t) => {
    const { store } = await openTestStore(t);
    const accounts = createAccounts(store);
    const password = await createAdministrator(accounts);
    assert.equal(await accounts.signIn('admin', `${password}x`, ''), null);
    assert.equal(await accounts.signIn('nobody', password, ''), null);
    assert.equal(await accounts.findByToken('x'.repeat(43)), null);
  });
});

describe('a password', () => {
  test('is checked against its hash, in whatever form its letters are written', async () => {
    const hash = await hashPassword('pässword');
    assert.equal(await checkPassword('pa\u0308ssword', hash), true);
    assert.equal(await checkPassword('passwort', hash), false);
    assert.equal(await checkPassword('', hash), false);
  });

  test('never fits an account that does not exist', async () => {
    assert.equal(await checkPassword('', null), false);
  });

  test('has a hash of its own each time', async () => {
    assert.notEqual(await hashPassword('x'), await hashPassword('x'));
  });

  test('that is made up is another one each time', () => {
    const many = new Set(Array.from({ length: 100 }, makeUpPassword));
    assert.equal(many.size, 100);
  });
});
