import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CONTROL, openTestApp, type TestApp } from '../../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../../test/support/test-license.ts';
import { exampleFeature, exampleLimits, register } from '../../../core/examples.ts';

const HIDDEN = 'a\u202eb';

function openApp(t: Parameters<typeof openTestApp>[0]): Promise<TestApp> {
  const features = [exampleFeature('render'), exampleFeature('export', { consumption: exampleLimits() })];
  return openTestApp(t, { licenses: [testLicense(7, { slots: 9, consumption: exampleLimits(), features })] });
}

async function listUsers({ get }: TestApp, query = ''): Promise<readonly string[]> {
  const { body } = await get(`/api/admin/registrations${query}`, { peer: CONTROL });
  return (body.registrations as { user: string }[]).map(({ user }) => user);
}

describe('the user of a request', () => {
  test('is the same however accents are encoded, and whatever blanks surround it', async (t) => {
    const app = await openApp(t);
    for (const user of ['jos\u00e9', 'jose\u0301', ' jos\u00e9\u3000']) {
      const { body } = await app.post('/api/v4/register', { user });
      assert.equal(body.floating_in_use, 1, JSON.stringify(user));
    }
    assert.deepEqual(await listUsers(app), ['jos\u00e9']);
    assert.deepEqual(await listUsers(app, `?user=${encodeURIComponent(' jose\u0301')}`), ['jos\u00e9']);
    const feature = await app.post('/api/v4/featureRegister', { user: 'jose\u0301 ', feature: 'render' });
    assert.equal(feature.status, 200);
    assert.equal((await app.post('/api/v4/unregister', { user: ' jose\u0301' })).status, 200);
    assert.deepEqual(await listUsers(app), []);
  });

  test('differs by case', async (t) => {
    const app = await openApp(t);
    for (const user of ['ada', 'Ada']) await app.post('/api/v4/register', { user });
    assert.deepEqual(await listUsers(app), ['Ada', 'ada']);
  });

  test('is refused with a hidden character by everything that lends or counts', async (t) => {
    const app = await openApp(t);
    for (const path of [
      'register',
      'borrow',
      'featureRegister',
      'add_consumption',
      'add_feature_consumption',
    ]) {
      const { status, body } = await app.post(`/api/v4/${path}`, { user: HIDDEN, feature: 'export' });
      assert.deepEqual([status, body.code, body.field], [400, 'validation_error', 'user'], path);
      assert.match(body.message as string, /U\+202E/);
    }
    assert.deepEqual(await listUsers(app), []);
  });

  test('is also refused if it is the host name', async (t) => {
    const app = await openApp(t);
    const { body } = await app.post('/api/v4/register', { os_hostname: 'desk\u200b' });
    assert.deepEqual([body.code, body.field], ['validation_error', 'os_hostname']);
    assert.equal(
      (await app.post('/api/v4/register', { user: 'ada', os_hostname: 'desk\u200b' })).status,
      200,
    );
  });

  test('may contain what ordinary names contain', async (t) => {
    const app = await openApp(t);
    for (const user of ['می\u200cخواهم', '\u{1f469}\u200d\u{1f4bb}', 'heart\u2764\ufe0f'])
      assert.equal((await app.post('/api/v4/register', { user })).status, 200, JSON.stringify(user));
  });

  test('can return what is held under a name that is no longer allowed', async (t) => {
    const app = await openApp(t);
    await app.store.execute(register(HIDDEN));
    await app.store.execute(register(`${HIDDEN}2`));
    const returned = await app.post('/api/v4/unregister', { user: HIDDEN });
    assert.deepEqual([returned.status, returned.text], [200, 'user_unregistered']);
    const path = '/api/admin/registrations/release';
    assert.equal((await app.post(path, { user: `${HIDDEN}2` }, { peer: CONTROL })).body.released, 1);
  });
});

test('a request that is repeated with differently encoded accents counts once', async (t) => {
  const app = await openApp(t);
  const send = (user: string) =>
    app.post('/api/v4/add_consumption', { user }, { headers: { 'idempotency-key': 'k' } });
  assert.equal((await send('jos\u00e9')).body.total_consumptions, 1);
  assert.equal((await send('jose\u0301')).body.total_consumptions, 1);
});
