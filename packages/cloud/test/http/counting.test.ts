import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { consumptionAnswer } from '@berth/protocol/api/consumption';
import { featureObject } from '@berth/protocol/api/license-object';
import { SYNC_EVENT } from '@berth/protocol/cloud/cloud-requests';
import { createTestCloud, START } from '../../../../test/support/cloud/test-cloud.ts';
import type { TermsChange } from '../../src/core/change-terms.ts';
import { parseFeatureSpec } from '../../src/core/feature-spec.ts';
import { blockDevice } from '../../src/store/devices.ts';
import { listEvents } from '../../src/store/events.ts';
import { changeLicense, resetLicense, setLicenseEnabled } from '../../src/store/licenses.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const SYNC = { event: [SYNC_EVENT] };

/** A cloud with a license for 10 consumptions, active on one machine. */
async function createCountingCloud(t: TestContext, terms: TermsChange = {}) {
  const cloud = createTestCloud(t);
  const features = ['export,consumptions=5', 'render,slots=2'].map(parseFeatureSpec);
  const key = cloud.grant({ consumption: { max: 10 }, features, ...terms });
  const who = { product: 'cad', license_key: key, hardware_id: 'machine-1' };
  await cloud.post('activate_license', who);
  const add = (consumptions: unknown, more: object = {}) =>
    cloud.post('add_consumption', { ...who, consumptions, ...more });
  const addTo = (feature: string | undefined, consumptions: unknown, more: object = {}) =>
    cloud.post('add_feature_consumption', { ...who, feature, consumptions, ...more });
  return { cloud, key, who, add, addTo };
}

describe('counting', () => {
  test('returns the total and the limits', async (t) => {
    const { add, who, cloud } = await createCountingCloud(t);
    const { status, body } = await add(3);
    assert.equal(status, 200);
    assert.deepEqual(body, consumptionAnswer.strict().parse(body));
    assert.deepEqual([body.total_consumptions, body.max_consumptions], [3, 10]);
    assert.equal((await cloud.get('check_license', who)).body.total_consumptions, 3);
  });

  test('takes digits, and 1 by default', async (t) => {
    const { add } = await createCountingCloud(t);
    assert.equal((await add('4')).body.total_consumptions, 4);
    assert.equal((await add(undefined)).body.total_consumptions, 5);
    assert.equal((await add(0)).body.total_consumptions, 5);
    assert.equal((await add('many')).body.code, 'validation_error');
  });

  test('refuses a count that was probably misspelt', async (t) => {
    const { cloud, who, addTo } = await createCountingCloud(t);
    const { body } = await cloud.post('add_consumption', { ...who, consumption: 5 });
    assert.deepEqual([body.code, body.field], ['validation_error', 'consumption']);
    assert.match(String(body.message), /Did you mean "consumptions"\?$/);
    assert.equal((await addTo('export', undefined, { consumtions: 5 })).body.code, 'validation_error');
    assert.equal((await cloud.get('check_license', who)).body.total_consumptions, 0);
  });

  test('not beyond the maximum, all or nothing', async (t) => {
    const { add } = await createCountingCloud(t);
    await add(8);
    const { status, body } = await add(3);
    assert.deepEqual([status, body.code, body.left], [400, 'license_not_enough_consumptions', 2]);
    assert.equal((await add(2)).body.total_consumptions, 10);
  });

  test('goes beyond it with overages, as far as granted and wanted', async (t) => {
    const { add } = await createCountingCloud(t, { consumption: { max: 10, overages: 5 } });
    assert.equal((await add(12, { allow_overages: false })).body.code, 'license_not_enough_consumptions');
    assert.equal((await add(12, { max_overages: 1 })).body.code, 'license_not_enough_consumptions');
    assert.equal((await add(16, { max_overages: 99 })).body.code, 'license_not_enough_consumptions');
    assert.equal((await add(15)).body.total_consumptions, 15);
  });

  test('has no limit if that is granted', async (t) => {
    const { add } = await createCountingCloud(t, { consumption: { max: null } });
    const { body } = await add(1_000_000);
    assert.deepEqual([body.total_consumptions, body.allow_unlimited_consumptions], [1_000_000, true]);
    assert.equal((await add(Number.MAX_SAFE_INTEGER)).body.code, 'license_not_enough_consumptions');
  });

  test('takes back only if that is granted, and never below 0', async (t) => {
    const strict = await createCountingCloud(t);
    await strict.add(5);
    assert.equal((await strict.add(-1)).body.code, 'validation_error');
    const lenient = await createCountingCloud(t, { consumption: { max: 10, allowNegative: true } });
    await lenient.add(5);
    assert.equal((await lenient.add(-5)).body.total_consumptions, 0);
    assert.equal((await lenient.add(-1)).body.code, 'validation_error');
  });

  test('counts a feature apart from the license', async (t) => {
    const { add, addTo } = await createCountingCloud(t);
    await add(9);
    const { status, body } = await addTo('export', 4);
    assert.equal(status, 200);
    assert.deepEqual(body, featureObject.strict().parse(body));
    assert.deepEqual([body.code, body.total_consumptions, body.max_consumptions], ['export', 4, 5]);
    assert.equal((await addTo('export', 2)).body.code, 'feature_not_enough_consumptions');
  });

  test('uses windows of the period, in UTC', async (t) => {
    const { cloud, add } = await createCountingCloud(t, { consumption: { max: 10, period: 'monthly' } });
    cloud.now = Date.UTC(2026, 6, 1) - 1;
    assert.equal((await add(10)).body.total_consumptions, 10);
    assert.equal((await add(1)).body.code, 'license_not_enough_consumptions');
    cloud.now += 1;
    const { body } = await add(1);
    assert.deepEqual([body.total_consumptions, body.consumption_period], [1, 'monthly']);
  });
});

describe('does not count', () => {
  test('on other types, or other features', async (t) => {
    const { addTo } = await createCountingCloud(t);
    assert.equal((await addTo('none', 1)).body.code, 'invalid_license_feature_code');
    assert.equal((await addTo('render', 1)).body.code, 'feature_not_consumption');
    assert.equal((await addTo(undefined, 1)).body.code, 'missing_parameters');
    const cloud = createTestCloud(t);
    const who = { product: 'cad', license_key: cloud.grant(), hardware_id: 'm' };
    await cloud.post('activate_license', who);
    assert.equal((await cloud.post('add_consumption', who)).body.code, 'license_not_consumption');
  });

  test('on a machine that does not have the license', async (t) => {
    const { add } = await createCountingCloud(t);
    assert.equal((await add(1, { hardware_id: 'other' })).body.code, 'device_not_found');
    assert.equal((await add(1, { hardware_id: 'other', ...SYNC })).body.code, 'device_not_found');
  });

  test('while the license is disabled, expired or not begun, or the machine is barred', async (t) => {
    const { cloud, key, add } = await createCountingCloud(t, { validUntil: START + 2 * DAY_MS });
    const { store } = cloud.folder;
    blockDevice(store, 'machine-1', START);
    assert.equal((await add(1)).body.code, 'blacklisted');
    changeLicense(store, { key, user: null, terms: { startsAt: START + DAY_MS } }, START);
    assert.equal((await add(1)).body.code, 'license_start_date_error');
    cloud.now = START + 2 * DAY_MS;
    assert.equal((await add(1)).body.code, 'license_expired');
    setLicenseEnabled(store, key, false, START);
    assert.equal((await add(1)).body.code, 'license_not_enabled');
  });

  test('on an expired feature', async (t) => {
    const features = [parseFeatureSpec('export,consumptions=5,expires=2026-06-15T12:00:00Z')];
    const { addTo } = await createCountingCloud(t, { features });
    assert.equal((await addTo('export', 1)).body.code, 'license_feature_expired');
    assert.equal((await addTo('export', 1, SYNC)).status, 200);
  });
});

describe('what a floating server reports afterwards', () => {
  test('is counted beyond every limit', async (t) => {
    const { add, addTo } = await createCountingCloud(t);
    assert.equal((await add(25, SYNC)).body.total_consumptions, 25);
    assert.equal((await addTo('export', 25, SYNC)).body.total_consumptions, 25);
    assert.equal((await add(1)).body.code, 'license_not_enough_consumptions');
  });

  test('is counted on a license that is disabled and expired, and on a barred machine', async (t) => {
    const { cloud, key, add } = await createCountingCloud(t, { validUntil: START + DAY_MS });
    setLicenseEnabled(cloud.folder.store, key, false, START);
    blockDevice(cloud.folder.store, 'machine-1', START);
    cloud.now = START + 2 * DAY_MS;
    assert.equal((await add(3, SYNC)).body.total_consumptions, 3);
  });

  test('may be taken back, even before what it takes back has arrived', async (t) => {
    const { add } = await createCountingCloud(t, { consumption: { max: 10, allowNegative: true } });
    assert.equal((await add(-2, SYNC)).body.total_consumptions, -2);
    assert.equal((await add(5, SYNC)).body.total_consumptions, 3);
    const strict = await createCountingCloud(t);
    assert.equal((await strict.add(-2, SYNC)).body.code, 'validation_error');
  });

  test('other events change nothing', async (t) => {
    const { add } = await createCountingCloud(t);
    assert.equal((await add(11, { event: ['something'] })).body.code, 'license_not_enough_consumptions');
  });
});

describe('a report', () => {
  test('is counted once, and answered again', async (t) => {
    const { cloud, add } = await createCountingCloud(t);
    const first = await add(4, { ...SYNC, report_id: 'r-1' });
    assert.deepEqual([first.body.total_consumptions, first.body.report_id], [4, 'r-1']);
    const again = await add(4, { ...SYNC, report_id: 'r-1' });
    assert.deepEqual(again.body, first.body);
    assert.equal((await add(0)).body.total_consumptions, 4);
    const counted = listEvents(cloud.folder.store, null, 100).filter(
      ({ kind }) => kind === 'consumption_added',
    );
    assert.equal(counted.length, 1);
  });

  test('gets the current total, whatever happened to the license', async (t) => {
    const { cloud, key, add } = await createCountingCloud(t);
    await add(4, { report_id: 'r-1' });
    await add(2);
    setLicenseEnabled(cloud.folder.store, key, false, START);
    resetLicense(cloud.folder.store, key, START);
    const { status, body } = await add(4, { report_id: 'r-1' });
    assert.deepEqual([status, body.total_consumptions], [200, 6]);
  });

  test('is the same in another window', async (t) => {
    const { cloud, add } = await createCountingCloud(t, { consumption: { max: 10, period: 'daily' } });
    await add(4, { ...SYNC, report_id: 'r-1' });
    cloud.now += DAY_MS;
    assert.equal((await add(4, { ...SYNC, report_id: 'r-1' })).body.total_consumptions, 0);
  });

  test('with another amount or feature is refused', async (t) => {
    const { add, addTo } = await createCountingCloud(t);
    await add(4, { report_id: 'r-1' });
    assert.equal((await add(5, { report_id: 'r-1' })).body.code, 'idempotency_key_reused');
    assert.equal((await addTo('export', 4, { report_id: 'r-1' })).body.code, 'idempotency_key_reused');
    assert.equal((await add(0)).body.total_consumptions, 4);
  });

  test('that was refused may be sent again', async (t) => {
    const { add } = await createCountingCloud(t);
    assert.equal((await add(11, { report_id: 'r-1' })).body.code, 'license_not_enough_consumptions');
    assert.equal((await add(10, { report_id: 'r-1' })).body.total_consumptions, 10);
  });

  test('belongs to its license', async (t) => {
    const { cloud, add } = await createCountingCloud(t);
    await add(4, { report_id: 'r-1' });
    const other = cloud.grant({ consumption: { max: 10 } });
    const who = { license_key: other, product: 'cad', hardware_id: 'machine-1' };
    await cloud.post('activate_license', who);
    assert.equal((await add(7, { ...who, report_id: 'r-1' })).body.total_consumptions, 7);
  });

  test('has an id of 1 to 128 characters', async (t) => {
    const { add } = await createCountingCloud(t);
    assert.equal((await add(1, { report_id: 'r'.repeat(128) })).status, 200);
    for (const report_id of ['', 'r'.repeat(129), 7, 'a\nb']) {
      assert.equal((await add(1, { report_id })).body.code, 'validation_error');
    }
    assert.ok(!('report_id' in (await add(1)).body), 'none is answered where none was sent');
  });
});
