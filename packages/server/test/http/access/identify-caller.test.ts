import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FOREIGN, openTestApp } from '../../../../../test/support/test-app.ts';

test('an empty Authorization is reported as missing, and ignored if clients need none', async (t) => {
  const ask = async (clients: 'open' | 'required', authorization: string) => {
    const app = await openTestApp(t, { auth: { clients } });
    const { body } = await app.post('/api/v4/register', { user: 'ann' }, { headers: { authorization } });
    return body.message;
  };
  for (const empty of ['', ' ', 'Bearer', 'bearer ']) {
    assert.match(String(await ask('required', empty)), /^The token is missing: .* \/auth /, empty);
    assert.equal(await ask('open', empty), undefined);
  }
  assert.match(String(await ask('required', 'Bearer x')), /unknown or expired/);
});

/** A body that arrives in two parts; `rest` lets the second one go. */
function slowly(first: string, second: string) {
  const rest = Promise.withResolvers<void>();
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(Buffer.from(first));
      await rest.promise;
      controller.enqueue(Buffer.from(second));
      controller.close();
    },
  });
  return { body, rest: rest.resolve };
}

test('nobody keeps rights that they have lost by sending the body slowly', async (t) => {
  const app = await openTestApp(t);
  const { token } = await app.accounts.tokens.create({ name: 'ci', role: 'admin', days: null }, 'test');
  const { body, rest } = slowly('{"name": "backdoor",', '"role": "admin"}');
  const headers = { authorization: `Bearer ${token}` };
  const answer = app.post('/api/admin/users/add', body, { peer: FOREIGN, headers });
  await app.accounts.tokens.revoke('ci', 'test');
  rest();
  assert.equal((await answer).status, 401);
  assert.ok(!(await app.accounts.list()).some(({ name }) => name === 'backdoor'));
});

test('an operator who is limited while the body arrives is limited at once', async (t) => {
  const app = await openTestApp(t);
  await app.post('/api/v4/register', { user: 'ann' });
  const password = 'a password of my own';
  await app.accounts.add({ name: 'olga', role: 'operator', password }, 'test');
  const token = await app.accounts.signIn({ name: 'olga', password, address: '::1' });
  const headers = { authorization: `Bearer ${token}` };
  const { body, rest } = slowly('{"product": "cad",', '"user": "ann"}');
  const answer = app.post('/api/admin/registrations/release', body, { peer: FOREIGN, headers });
  await app.accounts.setRole('olga', { role: 'operator', products: ['cam'] }, 'test');
  rest();
  assert.equal((await answer).body.code, 'unknown_product');
});
