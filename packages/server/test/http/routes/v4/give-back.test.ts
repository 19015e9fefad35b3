import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { openTestApp } from '../../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../../test/support/test-license.ts';
import { exampleFeature } from '../../../core/examples.ts';

describe('if clients authenticate', () => {
  async function openRequired(t: TestContext) {
    const app = await openTestApp(t, { auth: { clients: 'required' } });
    const create = async (name: string, role: 'user' | 'operator') => {
      const { token } = await app.accounts.tokens.create({ name, role, days: null }, 'test');
      return { headers: { authorization: `Bearer ${token}` } };
    };
    const signIn = async () => {
      const password = 'a password of my own';
      const token = await app.accounts.signIn({ name: 'ann', password, address: '' });
      return { headers: { authorization: `Bearer ${token}` } };
    };
    await app.accounts.add({ name: 'ann', role: 'user', password: 'a password of my own' }, 'test');
    return { ...app, create, signIn };
  }

  test('all tokens of an account can return what one of them took, and others cannot', async (t) => {
    const { post, create, signIn } = await openRequired(t);
    await post('/api/v4/register', { user: 'u1' }, await signIn());
    const other = await post('/api/v4/unregister', { user: 'u1' }, await create('ci', 'user'));
    assert.deepEqual([other.status, other.body.code], [403, 'slot_of_another_client']);
    assert.equal((await post('/api/v4/unregister', { user: 'u1' }, await signIn())).status, 200);
  });

  test('an operator can return anything, and a certificate what it took', async (t) => {
    const { post, create } = await openRequired(t);
    const shown = (certificate: string) => ({ peer: { address: '10.0.0.1', isControl: false, certificate } });
    for (const user of ['u1', 'u2']) await post('/api/v4/register', { user }, shown('desk'));
    assert.equal((await post('/api/v4/unregister', { user: 'u1' }, shown('lab'))).status, 403);
    assert.equal((await post('/api/v4/unregister', { user: 'u1' }, shown('desk'))).status, 200);
    assert.equal(
      (await post('/api/v4/unregister', { user: 'u2' }, await create('op', 'operator'))).status,
      200,
    );
  });
});

test('a return is answered with plain text, whatever the client accepts', async (t) => {
  const features = [exampleFeature('render')];
  const { post, routes } = await openTestApp(t, { licenses: [testLicense(1, { features })] });
  const words = routes.filter(({ answer }) => answer.kind === 'text');
  assert.deepEqual(
    words.map(({ name }) => name),
    ['unregister', 'feature_release'],
  );
  const body = { user: 'ann', feature: 'render' };
  for (const { paths, answer } of words) {
    for (const path of paths.flatMap((one) => [one, `${one}/`])) {
      for (const accept of [
        'application/json',
        'application/json, text/html;q=0.5',
        '*/*',
        'image/png',
        '',
      ]) {
        await post('/api/v4/register', body);
        await post('/api/v4/featureRegister', body);
        const { status, text, headers } = await post(path, body, { headers: { accept } });
        assert.deepEqual([status, headers.get('content-type')], [200, 'text/plain; charset=utf-8'], path);
        assert.equal(text, answer.kind === 'text' && answer.example);
      }
    }
  }
});
