import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { openTestApp } from '../../../../../test/support/test-app.ts';
import { type Directory, ProviderFault } from '../../../src/providers/sign-in-provider.ts';
import { createAccounts } from '../../../src/services/access/accounts.ts';
import { createDirectoryPeople } from '../../../src/services/access/directory-people.ts';

const PASSWORD = 'a password of my own';
const PLACE = '203.0.113.9';

/** A server with the account "admin" and a directory. */
async function openAccounts(t: TestContext, find: Directory['find']) {
  const { store, clock } = await openTestApp(t, { licenses: [] });
  const people = createDirectoryPeople(
    { find, probe: async () => {}, listMembers: async () => [] },
    { admins: [], operators: [], productOperators: ['cad=CN=Cad,DC=x', 'cam=cn=cam,dc=x'], viewers: [] },
  );
  const accounts = createAccounts(store, { ...clock, readMonotonicMs: () => 0, passwordCost: 1024, people });
  await accounts.add({ name: 'admin', role: 'admin', password: PASSWORD }, 'test');
  const signIn = (name: string, password = 'x', signal?: AbortSignal) =>
    accounts.signIn({ name, password, address: PLACE, ...(signal === undefined ? {} : { signal }) });
  return { signIn, tokens: accounts.tokens };
}

test('a person whose groups are for products is an operator of these', async (t) => {
  const groups = ['cn=cad, dc=X', 'CN=cam,DC=x'];
  const { signIn, tokens } = await openAccounts(t, async () => ({ subject: 'id', name: 'ann', groups }));
  const { role, products } = (await tokens.find((await signIn('ann')) ?? '')) ?? {};
  assert.deepEqual([role, products], ['operator', ['cad', 'cam']]);
});

const TOO_EARLY = { code: 'too_many_requests' };

describe('guesses at people in a directory', () => {
  test('are slowed down however a name is written', async (t) => {
    const asked: string[] = [];
    const { signIn } = await openAccounts(t, async (name) => {
      asked.push(name);
      return null;
    });
    const free = ['ann', 'ANN', ' ann', 'ａｎｎ', 'Ann\u00a0'];
    for (const name of free) assert.equal(await signIn(name), null);
    for (const name of ['aNN', 'ann ', 'ＡＮＮ']) await assert.rejects(signIn(name), TOO_EARLY);
    assert.equal(await signIn('anna'), null);
    assert.deepEqual(asked, [...free, 'anna']);
  });

  test('are never made with the name of an account, however it is written', async (t) => {
    const { signIn } = await openAccounts(t, async () => assert.fail('the directory was asked'));
    for (const name of ['admin', 'ADMIN', ' admin', 'ａdmin']) assert.equal(await signIn(name), null, name);
  });

  test('of somebody who does not wait for the answer count, too', async (t) => {
    const { signIn } = await openAccounts(t, async (_name, _password, signal) => {
      assert.ok(signal !== undefined);
      leaving.abort();
      throw new ProviderFault('unavailable', 'nobody waits any more');
    });
    let leaving = new AbortController();
    for (let n = 0; n < 5; n++) {
      leaving = new AbortController();
      await assert.rejects(signIn('ann', 'x', leaving.signal), { code: 'sign_in_unavailable' });
    }
    await assert.rejects(signIn('ann', 'x', new AbortController().signal), TOO_EARLY);
  });
});

test('a silent directory keeps no account from signing in, and is asked eight times at once', async (t) => {
  const silence = Promise.withResolvers<null>();
  const all = Promise.withResolvers<void>();
  let asked = 0;
  const { signIn } = await openAccounts(t, () => {
    asked += 1;
    if (asked === 8) all.resolve();
    return silence.promise;
  });
  const waiting = Array.from({ length: 8 }, (_, n) => signIn(`nobody-${n}`));
  await all.promise;
  assert.equal(typeof (await signIn('admin', PASSWORD)), 'string');
  await assert.rejects(signIn('nobody-8'), TOO_EARLY);
  silence.resolve(null);
  assert.deepEqual(new Set(await Promise.all(waiting)), new Set([null]));
  assert.equal(await signIn('nobody-8'), null);
  assert.equal(asked, 9);
});
