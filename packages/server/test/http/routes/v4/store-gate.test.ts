import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestApp } from '../../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../../test/support/test-license.ts';
import { exampleFeature } from '../../../core/examples.ts';

const OPERATIONS = [
  ['register', {}],
  ['borrow', {}],
  ['add_consumption', { consumptions: 1 }],
  ['featureRegister', { feature: 'render' }],
  ['featureRelease', { feature: 'render' }],
  ['unregister', {}],
] as const;

const open = (t: Parameters<typeof openTestApp>[0]) =>
  openTestApp(t, { licenses: [testLicense(7, { features: [exampleFeature('render')] })] });

test('a request for another store has no effect, and one for this store has', async (t) => {
  const app = await open(t);
  const { store_id } = (await app.get('/.well-known/jwks.json')).body;
  assert.match(String(store_id), /^[\w-]{43}$/);
  const body = { product: 'cad', user: 'ada' };
  for (const [operation, more] of OPERATIONS) {
    const wrong = { ...body, ...more, store_id: 'x'.repeat(43) };
    const refused = await app.post(`/api/v4/${operation}`, wrong);
    assert.deepEqual([refused.status, refused.body.code], [400, 'wrong_store'], operation);
    assert.equal(refused.body.store_id, store_id);
    const done = await app.post(`/api/v4/${operation}`, { ...body, ...more, store_id });
    assert.equal(done.status, 200, `${operation}: ${done.text}`);
  }
  const { total_consumptions } = (await app.post('/api/v4/add_consumption', { ...body, consumptions: 0 }))
    .body;
  assert.equal(total_consumptions, 1);
});

test('two stores have two ids', async (t) => {
  const ids = await Promise.all(
    [await open(t), await open(t)].map(
      async ({ get }) => (await get('/.well-known/jwks.json')).body.store_id,
    ),
  );
  assert.notEqual(ids[0], ids[1]);
});
