import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cloudLicense } from '@berth/protocol/cloud/cloud-license';
import { isSignedBy, licenseSignatureText } from '@berth/protocol/cloud/vendor-signature';
import { createTestCloud, START, type TestCloud } from '../../../../test/support/cloud/test-cloud.ts';
import { parseFeatureSpec } from '../../src/core/feature-spec.ts';
import { blockDevice, listDevices, unblockDevice } from '../../src/store/devices.ts';
import { listEvents } from '../../src/store/events.ts';
import { changeLicense, resetLicense, setLicenseEnabled } from '../../src/store/licenses.ts';

const HOUR_MS = 60 * 60 * 1000;

function identify(license_key: string, hardware_id = 'machine-1') {
  return { product: 'cad', license_key, hardware_id };
}

async function codeOf(asked: Promise<{ status: number; body: Record<string, unknown> }>) {
  const { status, body } = await asked;
  assert.ok(status < 500);
  return body.code;
}

/** The three routes that identify a license. */
function tryAll(cloud: TestCloud, fields: Readonly<Record<string, unknown>>) {
  return Promise.all([
    codeOf(cloud.post('activate_license', fields)),
    codeOf(cloud.get('check_license', fields)),
    codeOf(cloud.post('deactivate_license', fields)),
  ]);
}

describe('activating', () => {
  test('returns the license, for this machine, signed', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant({
      slots: 5,
      timeoutMinutes: 10,
      borrowHours: 168,
      validUntil: START + HOUR_MS,
      maxOfflineDays: 30,
      company: 'ACME',
      features: [parseFeatureSpec('render,slots=2,timeout=10'), parseFeatureSpec('export,consumptions=100')],
    });
    const { status, body } = await cloud.post('activate_license', { ...identify(key), hostname: 'alpha' });
    assert.equal(status, 200);
    const license = cloudLicense.parse(body);
    assert.equal(license.floating_users, 5);
    assert.equal(license.validity_period, START + HOUR_MS);
    assert.deepEqual(license.metadata, { max_offline_days: 30 });
    assert.equal(license.times_activated, 1);
    assert.equal(license.license_active, true);
    assert.equal(body.hardware_id, 'machine-1');
    assert.equal(body.company, 'ACME');
    assert.equal(body.order_store_id, null);
    assert.equal(body.is_expired, false);
    const [render, counted] = license.product_features;
    assert.deepEqual([render?.is_floating, render?.floating_users, render?.floating_timeout], [true, 2, 10]);
    assert.deepEqual([counted?.max_consumption, counted?.max_consumptions], [100, 100]);
    assert.equal(new Set([body.id, render?.id, counted?.id, body.device_id]).size, 4, 'all ids differ');
    const signed = licenseSignatureText('machine-1', key, String(body.validity_period));
    assert.ok(isSignedBy(cloud.publicKey, Buffer.from(signed), String(body.license_signature)));
  });

  test('a license without slots is not floating', async (t) => {
    const cloud = createTestCloud(t);
    const { body } = await cloud.post('activate_license', identify(cloud.grant()));
    assert.equal(cloudLicense.parse(body).is_floating, false);
  });

  test('the same machine again counts once, and updates its details', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant();
    const first = await cloud.post('activate_license', { ...identify(key), hostname: 'old', ip: '10.0.0.1' });
    const second = await cloud.post('activate_license', { ...identify(key), hostname: 'new' });
    assert.equal(second.status, 200);
    assert.equal(second.body.times_activated, 1);
    assert.equal(second.body.device_id, first.body.device_id);
    const [device, ...others] = listDevices(cloud.folder.store, null);
    assert.deepEqual([device?.host.hostname, device?.host.ip, others.length], ['new', '10.0.0.1', 0]);
  });

  test('no more machines than the license allows', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant({ maxActivations: 2 });
    for (const machine of ['a', 'b']) {
      assert.equal((await cloud.post('activate_license', identify(key, machine))).status, 200);
    }
    const { status, body } = await cloud.post('activate_license', identify(key, 'c'));
    assert.deepEqual([status, body.code], [400, 'license_activated_max_times']);
    assert.equal((await cloud.post('activate_license', identify(key, 'a'))).status, 200, 'it has it already');
  });

  test('as many machines as wanted, if that is granted', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant({ maxActivations: null });
    for (const machine of ['a', 'b', 'c']) {
      const { body } = await cloud.post('activate_license', identify(key, machine));
      assert.equal(body.allow_unlimited_activations, true);
    }
  });

  test('before the license starts', async (t) => {
    const cloud = createTestCloud(t);
    const { status, body } = await cloud.post(
      'activate_license',
      identify(cloud.grant({ startsAt: START + HOUR_MS })),
    );
    assert.equal(status, 200);
    assert.equal(body.start_date, new Date(START + HOUR_MS).toISOString());
  });

  test('with all spellings of a field name', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant();
    const fields = { Product: 'cad', LICENSE_KEY: key, Hardware_Id: 'm' };
    assert.equal((await cloud.post('activate_license', fields)).status, 200);
  });
});

describe('is refused, whoever asks', () => {
  test('something is missing', async (t) => {
    const cloud = createTestCloud(t);
    const fields = identify(cloud.grant());
    for (const name of ['product', 'hardware_id', 'license_key']) {
      const codes = await tryAll(cloud, { ...fields, [name]: '' });
      assert.deepEqual(codes, Array(3).fill('missing_parameters'), name);
    }
  });

  test('the product is unknown', async (t) => {
    const cloud = createTestCloud(t);
    const fields = { ...identify(cloud.grant()), product: 'other' };
    assert.deepEqual(await tryAll(cloud, fields), Array(3).fill('unknown_product'));
  });

  test('the key is unknown, of another product, or of another license id', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant();
    const other = cloud.grant({}, { product: 'cam' });
    const unknown = [identify('NONE'), identify(other), { ...identify(key), license_id: '1' }];
    for (const fields of unknown) {
      assert.deepEqual(await tryAll(cloud, fields), Array(3).fill('license_not_found'));
    }
  });

  test('the license is disabled, until it is enabled', async (t) => {
    const cloud = createTestCloud(t);
    const { store } = cloud.folder;
    const key = cloud.grant();
    await cloud.post('activate_license', identify(key));
    setLicenseEnabled(store, key, false, START);
    assert.equal(await codeOf(cloud.post('activate_license', identify(key))), 'license_not_enabled');
    assert.equal(await codeOf(cloud.get('check_license', identify(key))), 'license_not_enabled');
    setLicenseEnabled(store, key, true, START);
    assert.equal((await cloud.get('check_license', identify(key))).status, 200);
    setLicenseEnabled(store, key, false, START);
    assert.equal((await cloud.post('deactivate_license', identify(key))).status, 200, 'it can be given back');
  });

  test('the license has expired, including its grace period', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant({ validUntil: START + HOUR_MS, graceHours: 2 });
    await cloud.post('activate_license', identify(key));
    cloud.now = START + 3 * HOUR_MS - 1;
    assert.equal((await cloud.get('check_license', identify(key))).body.is_expired, false);
    cloud.now += 1;
    assert.equal(await codeOf(cloud.get('check_license', identify(key))), 'license_expired');
    assert.equal(await codeOf(cloud.post('activate_license', identify(key))), 'license_expired');
    const terms = { validUntil: cloud.now + HOUR_MS };
    changeLicense(cloud.folder.store, { key, user: null, terms }, cloud.now);
    assert.equal((await cloud.get('check_license', identify(key))).status, 200, 'extended');
  });

  test('the machine is barred', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant({ maxActivations: 2 });
    await cloud.post('activate_license', identify(key));
    for (const machine of ['machine-1', 'machine-2']) blockDevice(cloud.folder.store, machine, START);
    assert.equal(await codeOf(cloud.get('check_license', identify(key))), 'blacklisted');
    assert.equal(await codeOf(cloud.post('activate_license', identify(key, 'machine-2'))), 'blacklisted');
    unblockDevice(cloud.folder.store, 'machine-1', START);
    assert.equal((await cloud.get('check_license', identify(key))).status, 200);
  });
});

describe('checking', () => {
  test('returns the same license, and records when', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant({ slots: 5 });
    const activated = await cloud.post('activate_license', identify(key));
    cloud.now += HOUR_MS;
    const checked = await cloud.get('check_license', identify(key));
    assert.deepEqual(checked.body, activated.body);
    assert.equal(listDevices(cloud.folder.store, null)[0]?.seenAt, START + HOUR_MS);
  });

  test('refuses a license that was never activated, or was reset', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant();
    assert.equal(await codeOf(cloud.get('check_license', identify(key))), 'license_not_active');
    await cloud.post('activate_license', identify(key));
    resetLicense(cloud.folder.store, key, START);
    assert.equal(await codeOf(cloud.get('check_license', identify(key))), 'license_not_active');
    assert.equal((await cloud.post('activate_license', identify(key))).status, 200);
    assert.equal((await cloud.get('check_license', identify(key))).status, 200);
  });

  test('refuses another machine', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant();
    await cloud.post('activate_license', identify(key));
    assert.equal(await codeOf(cloud.get('check_license', identify(key, 'other'))), 'device_not_found');
  });
});

describe('deactivating', () => {
  test('answers with plain text, and frees the place', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant();
    await cloud.post('activate_license', identify(key, 'a'));
    const { status, text, headers } = await cloud.post('deactivate_license', identify(key, 'a'));
    assert.deepEqual([status, text], [200, 'license_deactivated']);
    assert.match(headers.get('content-type') ?? '', /^text\/plain/);
    assert.equal(await codeOf(cloud.get('check_license', identify(key, 'a'))), 'device_not_found');
    const { body } = await cloud.post('activate_license', identify(key, 'b'));
    assert.deepEqual([body.times_activated, body.transfer_count], [1, 1]);
  });

  test('works once: a machine without the license returns nothing', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant();
    assert.equal(await codeOf(cloud.post('deactivate_license', identify(key))), 'device_not_found');
  });

  test('every change is among the events', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant();
    await cloud.post('activate_license', identify(key));
    await cloud.post('activate_license', identify(key));
    await cloud.post('deactivate_license', identify(key));
    const kinds = listEvents(cloud.folder.store, null, 100).map(({ kind }) => kind);
    assert.deepEqual(kinds.reverse(), [
      'key_created',
      'product_created',
      'license_created',
      'device_activated',
      'device_refreshed',
      'device_deactivated',
    ]);
  });
});
