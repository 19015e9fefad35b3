import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openTestApp, readEvents, readTraces, START } from '../../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../../test/support/test-license.ts';
import { HOUR_MS, MINUTE_MS } from '../../../../src/core/nouns/instant.ts';
import type { License } from '../../../../src/core/nouns/license.ts';
import { exampleFeature, exampleLimits } from '../../../core/examples.ts';

const CAD = { product: 'cad' };
const iso = (millis: number) => new Date(millis).toISOString();

/** Two licenses of one product; the one with id 2 was added later. */
function openPool(t: Parameters<typeof openTestApp>[0], facts: readonly Partial<Omit<License, 'id'>>[]) {
  return openTestApp(t, { licenses: facts.map((one, index) => testLicense(index + 1, one)) });
}

describe('two licenses of one product', () => {
  test('lend until both are full, and then refuse as one', async (t) => {
    const { post, store } = await openPool(t, [{ slots: 1 }, { slots: 2 }]);
    const given: unknown[] = [];
    for (const user of ['ann', 'bob', 'cleo']) {
      const { status, body } = await post('/api/v4/register', { ...CAD, user });
      assert.equal(status, 200);
      given.push([body.license_id, body.floating_users, body.floating_in_use]);
    }
    assert.deepEqual(given, [
      [2, 2, 1],
      [2, 2, 2],
      [1, 1, 1],
    ]);
    for (const path of ['/api/v4/register', '/api/v4/borrow']) {
      const { message, ...facts } = (await post(path, { ...CAD, user: 'dan' })).body;
      const next_free_at = iso(START + 10 * MINUTE_MS);
      const code = 'floating_not_available';
      assert.deepEqual(facts, { status: 400, code, slots: 3, in_use: 3, next_free_at, licenses: 2 });
      assert.match(String(message), /^All 3 slots of "cad" are in use \(3 on 2 licenses\)\. The next one/);
    }
    const denied = (await readEvents(store)).filter(({ kind }) => kind === 'slot_denied');
    assert.equal(denied.length, 1, 'one record, whatever the license');
  });

  test('keep heartbeats on the license with the slot, with and without license_id', async (t) => {
    const { post } = await openPool(t, [{ slots: 1 }, { slots: 1 }]);
    await post('/api/v4/register', { ...CAD, user: 'ann' });
    await post('/api/v4/register', { ...CAD, user: 'bob' });
    await post('/api/v4/unregister', { ...CAD, user: 'ann' });
    for (const license_id of [undefined, null, 1]) {
      const { body } = await post('/api/v4/register', { ...CAD, user: 'bob', license_id });
      assert.deepEqual([body.license_id, body.floating_in_use], [1, 1], String(license_id));
    }
  });

  test('answer alone if they are named', async (t) => {
    const { post } = await openPool(t, [{ slots: 1 }, { slots: 1 }]);
    await post('/api/v4/register', { ...CAD, user: 'ann', license_id: 2 });
    const { body } = await post('/api/v4/register', { ...CAD, user: 'bob', license_id: 2 });
    const { message: _, ...facts } = body;
    const next_free_at = iso(START + 10 * MINUTE_MS);
    const code = 'floating_not_available';
    assert.deepEqual(facts, { status: 400, code, slots: 1, in_use: 1, next_free_at });
    assert.equal((await post('/api/v4/register', { ...CAD, user: 'bob', license_id: 1 })).status, 200);
  });

  test('lend a borrow if one allows it, and take the other slot back', async (t) => {
    const { post, store } = await openPool(t, [{ slots: 1 }, { slots: 1, canBorrow: false }]);
    assert.equal((await post('/api/v4/register', { ...CAD, user: 'ann' })).body.license_id, 2);
    const { status, body } = await post('/api/v4/borrow', { ...CAD, user: 'ann' });
    assert.deepEqual([status, body.license_id, body.is_borrowed], [200, 1, true]);
    const { registrations } = await readTraces(store);
    assert.deepEqual(
      registrations.map((record) => record.licenseId),
      [1],
    );
    const { text } = await post('/api/v4/unregister', { ...CAD, user: 'ann' });
    assert.equal(text, 'user_unregistered');
    assert.deepEqual((await readTraces(store)).registrations, []);
  });

  test('name the latest date that any of them allows', async (t) => {
    const { post } = await openPool(t, [{ maxBorrowHours: 48 }, { maxBorrowHours: 2 }]);
    const late = await post('/api/v4/borrow', {
      ...CAD,
      user: 'ann',
      borrowed_until: iso(START + 99 * HOUR_MS),
    });
    assert.deepEqual(
      [late.body.code, late.body.latest_until],
      ['borrow_until_not_valid', iso(START + 48 * HOUR_MS)],
    );
    const fits = await post('/api/v4/borrow', {
      ...CAD,
      user: 'ann',
      borrowed_until: iso(START + 9 * HOUR_MS),
    });
    assert.equal(fits.body.license_id, 1);
  });

  test("lend a feature only on the license with the user's slot", async (t) => {
    const { post } = await openPool(t, [{ features: [exampleFeature('render')] }, {}]);
    const ask = { ...CAD, user: 'ann', feature: 'render' };
    await post('/api/v4/register', { ...CAD, user: 'ann' });
    assert.equal((await post('/api/v4/featureRegister', ask)).body.code, 'invalid_license_feature_code');
    await post('/api/v4/register', { ...CAD, user: 'ann', license_id: 1 });
    const named = await post('/api/v4/featureRegister', { ...ask, license_id: 1 });
    assert.deepEqual([named.status, named.body.license_id], [200, 1]);
    assert.equal((await post('/api/v4/featureRelease', ask)).text, 'feature_released');
  });

  test('refuse with the reason of the newest if none can be used', async (t) => {
    const { post } = await openPool(t, [{ active: false }, { enabled: false }]);
    assert.equal((await post('/api/v4/register', { ...CAD, user: 'ann' })).body.code, 'license_not_enabled');
  });
});

describe('consumption of two licenses of one product', () => {
  const limits = { consumption: exampleLimits() };
  const features = [exampleFeature('export', { consumption: exampleLimits({ max: 3 }) })];

  test('goes to the first with room for the whole count', async (t) => {
    const { post } = await openPool(t, [limits, limits]);
    const add = async (consumptions: number) =>
      (await post('/api/v4/add_consumption', { ...CAD, consumptions })).body;
    const told = [await add(8), await add(5), await add(2), await add(0)];
    assert.deepEqual(
      told.map(({ id, total_consumptions }) => [id, total_consumptions]),
      [
        [2, 8],
        [1, 5],
        [2, 10],
        [2, 10],
      ],
    );
    const { message, ...facts } = await add(6);
    const code = 'license_not_enough_consumptions';
    const totals = { left: 5, total_consumptions: 15, max_consumptions: 20, licenses: 2 };
    assert.deepEqual(facts, { status: 400, code, ...totals });
    assert.match(String(message), /^6 cannot be added: no license of "cad" has that much left/);
  });

  test('of a feature too', async (t) => {
    const { post } = await openPool(t, [{ features }, { features }, {}]);
    const add = async (consumptions: number) =>
      (await post('/api/v4/add_feature_consumption', { ...CAD, feature: 'export', consumptions })).body;
    assert.deepEqual([(await add(2)).license_id, (await add(2)).license_id], [2, 1]);
    const { code, left, licenses } = await add(2);
    assert.deepEqual([code, left, licenses], ['feature_not_enough_consumptions', 1, 2]);
  });

  test('stays with the license that has answered a key, even when that is removed', async (t) => {
    const { post, store } = await openPool(t, [limits, limits]);
    const headers = { 'Idempotency-Key': 'order-1' };
    const add = (sent: object) => post('/api/v4/add_consumption', { ...CAD, ...sent }, { headers });
    const first = (await add({ consumptions: 9 })).body;
    assert.equal(first.id, 2);
    const license = testLicense(2, limits);
    await store.execute({ kind: 'remove_license', licenseId: license.id, by: 'admin' });
    assert.deepEqual((await add({ consumptions: 9 })).body, first);
    assert.equal((await add({ consumptions: 8 })).body.code, 'idempotency_key_reused');
    const { body } = await post('/api/v4/add_consumption', { ...CAD, consumptions: 0 });
    assert.deepEqual([body.id, body.total_consumptions], [1, 0], 'nothing was counted a second time');
  });
});
