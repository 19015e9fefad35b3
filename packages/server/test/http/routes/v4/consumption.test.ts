import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { consumptionAnswer, featureAnswer } from '@berth/protocol/api/consumption';
import { licenseObject } from '@berth/protocol/api/license-object';
import {
  FOREIGN,
  openTestApp,
  readEvents,
  readTraces,
  type TestApp,
} from '../../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../../test/support/test-license.ts';
import { HOUR_MS } from '../../../../src/core/nouns/instant.ts';
import type { License } from '../../../../src/core/nouns/license.ts';
import { exampleFeature, exampleLimits } from '../../../core/examples.ts';

const ADD = '/api/v4/add_consumption';
const ADD_FEATURE = '/api/v4/add_feature_consumption';

function metered(facts: Partial<License> = {}): License {
  const limits = exampleLimits({ allowOverages: true, maxOverages: 2, period: 'monthly' });
  const features = [exampleFeature('export', { consumption: exampleLimits({ max: 3 }) })];
  return testLicense(7, { consumption: limits, features, ...facts });
}

function openMetered(t: Parameters<typeof openTestApp>[0], facts: Partial<License> = {}): Promise<TestApp> {
  return openTestApp(t, { licenses: [metered(facts)] });
}

describe('the answer to add_consumption', () => {
  test('has the limits and the total that already includes the count', async (t) => {
    const { post } = await openMetered(t);
    const { status, body, headers } = await post(ADD, { product: 'cad', consumptions: 4 });
    assert.equal(status, 200);
    assert.equal(headers.get('content-type'), 'application/json; charset=utf-8');
    consumptionAnswer.strict().parse(body);
    assert.deepEqual(body, {
      id: 7,
      total_consumptions: 4,
      max_consumptions: 10,
      allow_overages: true,
      max_overages: 2,
      allow_unlimited_consumptions: false,
      allow_negative_consumptions: false,
      reset_consumption: true,
      consumption_period: 'monthly',
    });
  });

  test('counts what clients send: numbers, digits, nothing, other spellings, unknown keys', async (t) => {
    const { post } = await openMetered(t);
    const bodies: [object, number][] = [
      [{}, 1],
      [{ consumptions: null }, 2],
      [{ consumptions: '2' }, 4],
      [{ Consumptions: 1, Product: 'cad', sdk_ver: '1.0' }, 5],
      [{ consumptions: 0 }, 5],
      [{ consumptions: 1, allowOverages: 'FALSE', max_overages: null }, 6],
      [{ consumptions: 1, allow_overages: '', max_overages: '' }, 7],
      [{ consumptions: 1, license_id: '7', user: 'never@registered.example' }, 8],
    ];
    for (const [sent, total] of bodies) {
      const { body, text } = await post(ADD, sent);
      assert.equal(body.total_consumptions, total, `${JSON.stringify(sent)}: ${text}`);
    }
  });

  test('is a refusal when the count was probably misspelt, and nothing is counted', async (t) => {
    const { post, store } = await openMetered(t);
    const before = await readTraces(store);
    for (const path of [ADD, ADD_FEATURE]) {
      const slip = await post(path, { feature: 'export', Consumption: 2 });
      assert.deepEqual(
        [slip.status, slip.body.code, slip.body.field],
        [400, 'validation_error', 'consumption'],
      );
      assert.equal(
        slip.body.message,
        'This request has no field "consumption". Did you mean "consumptions"?',
      );
      const inUrl = await post(`${path}?consumptions=2`, { feature: 'export' });
      assert.deepEqual([inUrl.body.code, inUrl.body.field], ['validation_error', 'consumptions']);
      const wider = await post(path, { feature: 'export', consumptions: 1, max_overage: 0 });
      assert.deepEqual([wider.body.code, wider.body.field], ['validation_error', 'max_overage']);
    }
    assert.deepEqual(await readTraces(store), before);
    assert.equal((await post(`${ADD}?sdk_ver=1`, { app_ver: '1', max_consumptions: 5 })).status, 200);
  });

  test('needs no registration, and creates none', async (t) => {
    const { post, store } = await openMetered(t);
    const { status } = await post(ADD, { user: 'nobody@example.com' }, { peer: FOREIGN });
    assert.equal(status, 200);
    assert.deepEqual((await readTraces(store)).registrations, []);
    const [event] = (await readEvents(store)).filter(({ kind }) => kind === 'consumption_added');
    assert.deepEqual(event?.kind === 'consumption_added' && [event.user, event.count], [
      'nobody@example.com',
      1,
    ]);
  });

  test('is a refusal that says what is left, and nothing is counted', async (t) => {
    const { post } = await openMetered(t);
    await post(ADD, { consumptions: 11 });
    const { status, body } = await post(ADD, { consumptions: 2 });
    assert.equal(status, 400);
    const { message, ...rest } = body;
    assert.deepEqual(rest, {
      status: 400,
      code: 'license_not_enough_consumptions',
      left: 1,
      total_consumptions: 11,
      max_consumptions: 10,
    });
    assert.match(String(message), /1 of 12 are left/);
    const narrowed = await post(ADD, { consumptions: 1, allow_overages: false });
    assert.equal(narrowed.body.left, 0);
    assert.equal((await post(ADD, { consumptions: 1, max_overages: 99 })).body.total_consumptions, 12);
  });

  test('is a refusal for unreadable values, and leaves no trace', async (t) => {
    const { post, store } = await openMetered(t);
    const before = await readTraces(store);
    const wrong = ['', ' ', '1.5', 1.5, '1e3', 'abc', true, [], {}, '9007199254740993', -1, '-1'];
    for (const consumptions of wrong) {
      const { status, body } = await post(ADD, { consumptions });
      assert.deepEqual([status, body.code], [400, 'validation_error'], JSON.stringify(consumptions));
      assert.equal(body.field, 'consumptions');
    }
    const large = await post(ADD, '{"consumptions": 9007199254740993}');
    assert.equal(large.body.code, 'validation_error', 'a number that JSON cannot carry exactly');
    assert.equal((await post(ADD, { max_overages: -1 })).body.field, 'max_overages');
    assert.equal((await post(ADD, { allow_overages: 'yes' })).body.field, 'allow_overages');
    assert.deepEqual(await readTraces(store), before);
  });

  test('is a refusal with its own code for each reason', async (t) => {
    const { post } = await openTestApp(t, {
      licenses: [
        metered(),
        testLicense(8, { product: 'plain', type: 'perpetual' }),
        testLicense(9, { product: 'closed', enabled: false }),
      ],
    });
    const codeOf = async (path: string, sent: object) => (await post(path, sent)).body.code;
    assert.equal(await codeOf(ADD, { product: 'plain' }), 'license_not_consumption');
    assert.equal(await codeOf(ADD, { product: 'closed' }), 'license_not_enabled');
    assert.equal(await codeOf(ADD, { product: 'nothing' }), 'unknown_product');
    assert.equal(await codeOf(ADD, {}), 'missing_parameters');
    assert.equal(await codeOf(ADD, { license_id: 99 }), 'license_not_found');
    const feature = 'export';
    assert.equal(await codeOf(ADD_FEATURE, { product: 'cad' }), 'missing_parameters');
    assert.equal(await codeOf(ADD_FEATURE, { product: 'plain', feature }), 'invalid_license_feature_code');
  });
});

describe('the answer to add_feature_consumption', () => {
  test('is the feature with its total, both spellings of the maximum included', async (t) => {
    const { post } = await openMetered(t, { type: 'perpetual' });
    const { status, body } = await post(ADD_FEATURE, { feature: 'export', consumptions: '2' });
    assert.equal(status, 200);
    featureAnswer.strict().parse(body);
    assert.deepEqual(
      [body.license_id, body.code, body.feature_type, body.total_consumptions],
      [7, 'export', 'consumption', 2],
    );
    assert.deepEqual([body.max_consumption, body.max_consumptions], [3, 3]);
    const full = await post(ADD_FEATURE, { feature: 'export', consumptions: 2 });
    assert.deepEqual([full.body.code, full.body.left], ['feature_not_enough_consumptions', 1]);
  });

  test('is a refusal for a feature of another kind', async (t) => {
    const { post } = await openMetered(t, { features: [exampleFeature('render')] });
    const { body } = await post(ADD_FEATURE, { feature: 'render' });
    assert.equal(body.code, 'feature_not_consumption');
  });
});

describe('what was counted', () => {
  test('is in every answer about the license, in the window of the server', async (t) => {
    const { post, get, clock } = await openMetered(t);
    await post(ADD, { consumptions: 4 });
    await post(ADD_FEATURE, { feature: 'export', consumptions: 2 });
    const expectTotals = async (license: number, feature: number) => {
      const registered = (await post('/api/v4/register', { user: 'ada' })).body;
      const asked = (await get('/api/v4/license?product=cad')).body;
      licenseObject.strict().parse(asked);
      const told = [registered, JSON.parse(registered.license_json as string), asked];
      for (const { total_consumptions, product_features } of told) {
        const [exporting] = product_features as { total_consumptions: number }[];
        assert.deepEqual([total_consumptions, exporting?.total_consumptions], [license, feature]);
      }
    };
    await expectTotals(4, 2);
    await post(ADD, {});
    await expectTotals(5, 2);
    clock.advance(31 * 24 * HOUR_MS);
    await expectTotals(0, 2);
  });
});

describe('the header Idempotency-Key', () => {
  const send = (app: TestApp, path: string, sent: object, key: string) =>
    app.post(path, sent, { headers: { 'idempotency-key': key } });

  test('makes a repeat count once, however its JSON is written', async (t) => {
    const app = await openMetered(t);
    const first = await send(app, ADD, { consumptions: 2, product: 'cad' }, 'k-1');
    await app.post(ADD, {});
    const again = await send(app, ADD, { product: 'cad', Consumptions: '2', sdk_ver: 'x' }, 'k-1');
    assert.deepEqual([again.status, again.text], [200, first.text]);
    const other = await send(app, ADD, { consumptions: 3, product: 'cad' }, 'k-1');
    assert.deepEqual([other.status, other.body.code], [400, 'idempotency_key_reused']);
    assert.equal((await app.post(ADD, { consumptions: 0 })).body.total_consumptions, 3);
  });

  test('counts separately for features and for users', async (t) => {
    const app = await openMetered(t);
    await send(app, ADD, {}, 'k');
    await send(app, ADD, { user: 'ada' }, 'k');
    const { body } = await send(app, ADD_FEATURE, { feature: 'export' }, 'k');
    assert.equal(body.total_consumptions, 1);
    assert.equal((await app.post(ADD, { consumptions: 0 })).body.total_consumptions, 2);
  });

  test('is refused when it is empty, too long or not printable ASCII, and nothing is counted', async (t) => {
    const app = await openMetered(t);
    for (const key of ['', 'x'.repeat(257), 'caf\u00e9', 'a b', 'a\tb']) {
      const { status, body } = await send(app, ADD, {}, key);
      assert.deepEqual([status, body.code], [400, 'validation_error'], JSON.stringify(key));
      assert.equal(body.field, 'Idempotency-Key');
    }
    assert.equal((await app.post(ADD, { consumptions: 0 })).body.total_consumptions, 0);
    for (const key of ['!', '~', 'x'.repeat(256)]) {
      assert.equal((await send(app, ADD, {}, key)).status, 200, key);
    }
  });
});
