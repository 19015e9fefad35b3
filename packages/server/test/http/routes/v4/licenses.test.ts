import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { licenseObject } from '@berth/protocol/api/license-object';
import { openTestApp } from '../../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../../test/support/test-license.ts';

const SHELF = [testLicense(1), testLicense(2, { enabled: false }), testLicense(3, { product: 'cam' })];

describe('one license', () => {
  test('is the one that answers for the product', async (t) => {
    const { get, post } = await openTestApp(t, { licenses: SHELF });
    await post('/api/v4/register', { product: 'cad', user: 'ann' });
    const { status, body } = await get('/api/v4/license?product=cad');
    assert.equal(status, 200);
    licenseObject.strict().parse(body);
    assert.equal(body.id, 1, 'the newer license of the product is disabled');
    assert.equal(body.floating_in_use, 1);
    assert.ok(!Object.hasOwn(body, 'hardware_id'));
  });

  test('is the named one, in any state', async (t) => {
    const { get } = await openTestApp(t, { licenses: SHELF });
    for (const path of ['/api/v4/license?license_id=2', '/api/v4/license?product=cad&license_id=2']) {
      const { body } = await get(path);
      assert.equal(body.id, 2);
      assert.equal(body.license_enabled, false);
    }
  });

  test('is the only one when nothing is named', async (t) => {
    const { get } = await openTestApp(t);
    for (const query of ['', '?', '?product=', '?product=%20&sdk_ver=1']) {
      assert.equal((await get(`/api/v4/license${query}`)).body.id, 1, query);
    }
  });

  test('is refused with the reason', async (t) => {
    const { get } = await openTestApp(t, { licenses: SHELF });
    const expected: Readonly<Record<string, string>> = {
      '?product=nothing': 'unknown_product',
      '': 'missing_parameters',
      '?license_id=9': 'license_not_found',
      '?product=cam&license_id=1': 'license_not_found',
      '?license_id=x': 'validation_error',
      '?product=a%00b': 'validation_error',
      '?product=cad&product=cad': 'validation_error',
    };
    for (const [query, code] of Object.entries(expected)) {
      const { status, body } = await get(`/api/v4/license${query}`);
      assert.equal(status, 400);
      assert.equal(body.code, code, query);
    }
  });

  test('is refused on an empty server', async (t) => {
    const { get } = await openTestApp(t, { licenses: [] });
    assert.equal((await get('/api/v4/license')).body.code, 'missing_parameters');
    assert.equal((await get('/api/v4/license?product=cad')).body.code, 'unknown_product');
    assert.equal((await get('/api/v4/license?license_id=1')).body.code, 'license_not_found');
  });
});

describe('all licenses', () => {
  test('are listed, the most recently added first', async (t) => {
    const { get } = await openTestApp(t, { licenses: SHELF });
    const expected: readonly [string, number[]][] = [
      ['/api/v4/licenses?product=cad', [2, 1]],
      ['/api/v4/licenses?product=cam', [3]],
    ];
    for (const [path, ids] of expected) {
      const { status, body } = await get(path);
      assert.equal(status, 200);
      const list = licenseObject.strict().array().parse(body);
      assert.deepEqual(
        list.map(({ id }) => id),
        ids,
      );
    }
  });

  test('of no product, or of an unknown one, are refused', async (t) => {
    const { get } = await openTestApp(t, { licenses: SHELF });
    assert.equal((await get('/api/v4/licenses')).body.code, 'missing_parameters');
    assert.equal((await get('/api/v4/licenses?product=nothing')).body.code, 'unknown_product');
    const { get: getOne } = await openTestApp(t);
    assert.equal((await getOne('/api/v4/licenses')).status, 200, 'the only product is meant');
  });
});
