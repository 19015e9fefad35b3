import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { featureRegisterAnswer } from '@berth/protocol/api/consumption';
import {
  FOREIGN,
  LOCAL,
  openTestApp,
  readEvents,
  readTraces,
  START,
} from '../../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../../test/support/test-license.ts';
import { MINUTE_MS, plus } from '../../../../src/core/nouns/instant.ts';
import { exampleFeature } from '../../../core/examples.ts';

const REGISTER = '/api/v4/featureRegister';
const RELEASE = '/api/v4/featureRelease';
const LICENSE = testLicense(7, { features: [exampleFeature('export'), exampleFeature('render')] });
const ASK = { product: 'cad', feature: 'render', user: 'ada' };

async function openApp(t: Parameters<typeof openTestApp>[0], users: readonly string[] = ['ada']) {
  const app = await openTestApp(t, { licenses: [LICENSE] });
  for (const user of users) await app.post('/api/v4/register', { user });
  return app;
}

describe('the answer to featureRegister', () => {
  test('is the feature, with the number of its slots in use, under both names', async (t) => {
    const { post } = await openApp(t);
    for (const path of [REGISTER, '/api/v4/check_license_feature']) {
      const { status, body } = await post(path, { ...ASK, os_hostname: 'desk', ip_local: '10.0.0.1' });
      assert.equal(status, 200);
      featureRegisterAnswer.strict().parse(body);
      assert.deepEqual(
        [body.license_id, body.code, body.is_floating, body.is_floating_cloud],
        [7, 'render', true, false],
      );
      assert.deepEqual([body.floating_users, body.floating_timeout], [2, 10]);
      assert.equal(body.floating_in_use_devices, 1, 'a heartbeat takes no second slot');
      assert.deepEqual([body.is_borrowed, body.borrowed_until], [false, null]);
    }
  });

  test('is no borrow when the date is not set, in any notation', async (t) => {
    const { post } = await openApp(t);
    for (const borrowed_until of [undefined, null, '', '0001-01-01T00:00:00Z']) {
      const { status, body } = await post(REGISTER, { ...ASK, borrowed_until });
      assert.deepEqual([status, body.is_borrowed], [200, false], String(borrowed_until));
    }
  });

  test('is a borrow with a date, under either name of the field', async (t) => {
    const { post } = await openApp(t);
    const until = new Date(plus(START, 5 * MINUTE_MS)).toISOString();
    for (const field of ['borrowed_until', 'borrow_until']) {
      const { body } = await post(REGISTER, { ...ASK, [field]: until });
      featureRegisterAnswer.strict().parse(body);
      assert.deepEqual([body.is_borrowed, body.borrowed_until], [true, until]);
    }
    const late = await post(REGISTER, { ...ASK, borrowed_until: '2031-01-01' });
    assert.equal(late.body.code, 'borrow_until_not_valid');
    assert.equal(late.body.latest_until, '2030-01-15T12:10:00.000Z');
    const odd = await post(REGISTER, { ...ASK, borrowed_until: 5 });
    assert.equal(odd.body.code, 'borrow_until_not_valid');
  });

  test('is a refusal with its own code for each reason', async (t) => {
    const { post } = await openApp(t, ['ada', 'bob', 'eve']);
    const codeOf = async (sent: object) => (await post(REGISTER, { ...ASK, ...sent })).body.code;
    assert.equal(await codeOf({ user: 'zoe' }), 'device_not_found');
    assert.equal(await codeOf({ feature: 'nothing' }), 'invalid_license_feature_code');
    assert.equal(await codeOf({ feature: 'export' }), 'feature_not_floating');
    assert.equal(await codeOf({ feature: null }), 'missing_parameters');
    const neither = await post(REGISTER, { ...ASK, user: null, feature: null });
    assert.match(String(neither.body.message), /"os_hostname"/, 'the user is asked for first');
    assert.equal(await codeOf({ product: 'nothing' }), 'unknown_product');
    for (const user of ['ada', 'bob']) assert.equal(await codeOf({ user }), 'render');
    const { status, body } = await post(REGISTER, { ...ASK, user: 'eve' });
    assert.deepEqual([status, body.code], [400, 'floating_not_available']);
    assert.deepEqual([body.slots, body.in_use, body.next_free_at], [2, 2, '2030-01-15T12:10:00.000Z']);
  });

  test('is visible in every answer about the license', async (t) => {
    const { post, get } = await openApp(t);
    await post(REGISTER, ASK);
    const registered = (await post('/api/v4/register', { user: 'ada' })).body;
    const asked = (await get('/api/v4/license')).body;
    for (const told of [registered, JSON.parse(registered.license_json as string), asked]) {
      const [, render] = told.product_features as { floating_in_use_devices: number }[];
      assert.equal(render?.floating_in_use_devices, 1);
    }
  });
});

describe('featureRelease', () => {
  test('returns the slot, under both names, once', async (t) => {
    const { post } = await openApp(t);
    for (const path of [RELEASE, '/api/v4/feature_release']) {
      await post(REGISTER, ASK);
      const { status, text, headers } = await post(path, ASK);
      assert.deepEqual([status, text], [200, 'feature_released']);
      assert.match(String(headers.get('content-type')), /^text\/plain/);
      const again = await post(path, ASK);
      assert.deepEqual([again.status, again.body.code], [400, 'floating_feature_device_not_in_use']);
    }
    assert.equal((await post(RELEASE, { ...ASK, feature: 'x' })).body.code, 'invalid_license_feature_code');
    assert.equal((await post(RELEASE, { user: 'ada' })).body.code, 'missing_parameters');
  });

  test('is not needed if the license is returned', async (t) => {
    const { post } = await openApp(t);
    await post(REGISTER, ASK);
    await post('/api/v4/unregister', { user: 'ada' });
    assert.equal((await post(RELEASE, ASK)).body.code, 'floating_feature_device_not_in_use');
    await post('/api/v4/register', { user: 'ada' });
    assert.equal((await post(REGISTER, ASK)).body.floating_in_use_devices, 1);
  });
});

describe('featureRelease/all', () => {
  const paths = ['/api/v4/featureRelease/all', '/api/v4/feature_release/all'];

  test('is for administrators', async (t) => {
    const { post, send, store } = await openApp(t);
    await post(REGISTER, ASK);
    const before = await readTraces(store);
    for (const path of paths) {
      for (const method of ['GET', 'POST']) {
        const { status, body } = await send(method, path, { peer: FOREIGN });
        assert.deepEqual([status, body.code], [401, 'unauthorized']);
      }
    }
    assert.deepEqual(await readTraces(store), before);
  });

  test('releases all of them and leaves the licenses lent', async (t) => {
    const { post, send, store, get } = await openApp(t, ['ada', 'bob']);
    for (const path of paths) {
      for (const method of ['GET', 'POST']) {
        for (const user of ['ada', 'bob']) await post(REGISTER, { ...ASK, user });
        const { status, text } = await send(method, path, { peer: LOCAL });
        assert.deepEqual([status, text], [200, '']);
        const [, render] = (await get('/api/v4/license')).body.product_features as Record<string, unknown>[];
        assert.equal(render?.floating_in_use_devices, 0);
      }
    }
    assert.equal((await readTraces(store)).registrations.length, 2);
    const events = (await readEvents(store)).filter(({ kind }) => kind === 'all_features_returned');
    assert.equal(events.length, 4);
    assert.deepEqual(events[0], {
      kind: 'all_features_returned',
      count: 2,
      by: 'local',
      origin: '127.0.0.1',
    });
  });
});
