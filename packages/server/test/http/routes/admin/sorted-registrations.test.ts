import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openTestApp } from '../../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../../test/support/test-license.ts';
import { HOUR_MS } from '../../../../src/core/nouns/instant.ts';
import { exampleFeature, NOW } from '../../../core/examples.ts';

async function openWithSlots(t: Parameters<typeof openTestApp>[0]) {
  const app = await openTestApp(t);
  for (const [user, os_hostname] of [
    ['carol', 'ws-2'],
    ['Ada', 'nb-1'],
    ['bob_1', 'ws-3'],
  ]) {
    const { status } = await app.post('/api/v4/register', { user, os_hostname });
    assert.equal(status, 200);
  }
  const list = async (query: string) => {
    const { status, body } = await app.get(`/api/admin/registrations?${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    const { matched, registrations } = body as { matched: number; registrations: { user: string }[] };
    return [matched, ...registrations.map(({ user }) => user)];
  };
  return { app, list };
}

describe('slots in a list for people', () => {
  test('are sorted by any column, in parts', async (t) => {
    const { list } = await openWithSlots(t);
    assert.deepEqual(await list('sort=user'), [3, 'Ada', 'bob_1', 'carol']);
    assert.deepEqual(await list('sort=user&direction=down&limit=2'), [3, 'carol', 'bob_1']);
    assert.deepEqual(await list('sort=host&offset=1'), [3, 'carol', 'bob_1']);
    assert.deepEqual(await list('sort=license'), await list(''));
  });

  test('are found by a part of a name or an address', async (t) => {
    const { app, list } = await openWithSlots(t);
    assert.deepEqual(await list('search=A&sort=user'), [2, 'Ada', 'carol']);
    assert.deepEqual(await list('search=WS-&sort=user'), [2, 'bob_1', 'carol']);
    assert.deepEqual(await list('search=_'), [1, 'bob_1']);
    assert.deepEqual(await list('search=%25'), [0]);
    await app.post('/api/v4/unregister', { user: 'Ada' });
    await app.post('/api/v4/register', { user: 'Özge' });
    assert.deepEqual(await list(`search=${encodeURIComponent('öZ')}`), [1, 'Özge']);
    assert.equal((await list('search=127.0'))[0], 3);
    assert.equal((await list('search=128.0'))[0], 0);
  });

  test('are told apart by state and feature', async (t) => {
    const { app, list } = await openWithSlots(t);
    const borrowed_until = new Date(NOW + HOUR_MS).toISOString();
    const { status } = await app.post('/api/v4/borrow', { user: 'carol', borrowed_until });
    assert.equal(status, 200);
    assert.deepEqual(await list('state=borrowed'), [1, 'carol']);
    assert.equal((await list('state=in_use'))[0], 2);
    assert.deepEqual(await list('feature=none'), [0]);
  });

  test('go on after one of them, with every filter and without being counted again', async (t) => {
    const { list } = await openWithSlots(t);
    const after = 'after_license_id=1&after_user=Ada';
    assert.deepEqual(await list(after), [null, 'bob_1', 'carol']);
    assert.deepEqual(await list(`${after}&search=ws-2`), [null, 'carol']);
    assert.deepEqual(await list(`${after}&limit=1&sort=license`), [null, 'bob_1']);
    assert.deepEqual(await list(`${after}&user=Ada`), [null]);
  });

  test('go on in the order of licenses and users only', async (t) => {
    const { app } = await openWithSlots(t);
    for (const order of ['sort=user', 'direction=down']) {
      const { status, body } = await app.get(`/api/admin/registrations?after_license_id=1&${order}`);
      assert.deepEqual([status, body.code, body.field], [400, 'validation_error', 'after_license_id'], order);
    }
  });

  test('are told with the features that their users hold', async (t) => {
    const floating = { slots: 2, timeoutMinutes: 10, canBorrow: false, maxBorrowHours: 0 };
    const features = (['export', 'render'] as const).map((code) => exampleFeature(code, { floating }));
    const { post, get } = await openTestApp(t, { licenses: [testLicense(1, { features })] });
    for (const user of ['ann', 'bob']) await post('/api/v4/register', { user });
    for (const feature of ['render', 'export']) {
      assert.equal((await post('/api/v4/featureRegister', { user: 'ann', feature })).status, 200);
    }
    const { body } = await get('/api/admin/registrations');
    const held = (body.registrations as { features: string[] }[]).map((one) => one.features);
    assert.deepEqual(held, [['export', 'render'], []]);
    const found = await get('/api/admin/registrations?feature=render');
    assert.equal(found.body.matched, 1);
  });

  test('a wrong order is refused', async (t) => {
    const { app } = await openWithSlots(t);
    const { status, body } = await app.get('/api/admin/registrations?sort=color');
    assert.equal(status, 400);
    assert.match(String(body.message), /sort/);
  });
});
