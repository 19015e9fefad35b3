import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { openTestApp, readTraces } from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import type { Cloud, CloudReply, Vouched } from '../../../src/cloud/cloud.ts';

function vouchFor(id: number): CloudReply<Vouched> {
  // Without a key it can only be asked for by its user.
  const license = testLicense(id, { slots: 50 + id, key: '' });
  return {
    kind: 'ok',
    value: { license, isFloating: true, counted: { total: 0, features: [] }, certificates: [] },
    isBound: false,
  };
}

/** A server that was given the license 7 by its user, with a cloud that answers checks as it is told. */
async function openChecked(t: TestContext, check: Cloud['check']) {
  const cloud = { activate: async () => vouchFor(7), check } as Partial<Cloud> as Cloud;
  const app = await openTestApp(t, { licenses: [], cloud });
  await app.credentials.setKeys({ apiKey: 'a', sharedKey: 's' }, 'test');
  const request = { product: 'cad', username: 'ann', password: 'secret' };
  assert.equal((await app.post('/api/v4/addProduct', request)).status, 200);
  return app;
}

describe('a check', () => {
  test('of a license identified by its user rejects an answer about another one', async (t) => {
    const app = await openChecked(t, async () => vouchFor(8));
    const before = await readTraces(app.store);
    const [result] = await app.cloudLink.sync(null);
    assert.equal(result?.error?.reason, 'not_understood');
    assert.deepEqual(await readTraces(app.store), before);
    assert.equal((await app.get('/api/admin/status')).status, 200);
  });

  test('accepts the right one', async (t) => {
    const app = await openChecked(t, async (_, { holder }) => {
      assert.deepEqual(holder, { username: 'ann', password: null });
      return vouchFor(7);
    });
    const [result] = await app.cloudLink.sync(null);
    assert.equal(result?.error, null);
  });
});
