import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { createCarriedServer } from '../../../../../test/support/cloud/carried-server.ts';
import { createTestPortal, given, refused } from '../../../../../test/support/cloud/test-portal.ts';
import { blockDevice, listDevices } from '../../../src/store/devices.ts';
import { listEvents } from '../../../src/store/events.ts';
import { disableKey } from '../../../src/store/keys/keys.ts';
import { changeLicense, getLicense, resetLicense, setLicenseEnabled } from '../../../src/store/licenses.ts';

const HOUR_MS = 60 * 60 * 1000;

describe('a request is answered with a license', () => {
  test('that the server reads as it reads the answer to a check', async (t) => {
    const portal = createTestPortal(t);
    const { cloud, key } = portal;
    const server = createCarriedServer();
    const requestId = randomUUID();
    const answer = given(portal.activate(server.request({ requestId, product: 'cad', licenseKey: key })));
    const { fields, license } = portal.readFile(answer.file);
    const who = { product: 'cad', license_key: key, hardware_id: server.hardwareId };
    const { body } = await cloud.get('check_license', who);
    const { request_id, date, license_signature_v2, ...rest } = fields;
    assert.deepEqual(rest, body, 'with its older signature');
    assert.deepEqual([request_id, date], [requestId, new Date(cloud.now).toISOString()]);
    assert.equal(license.floating_users, 5);
    assert.equal(license.hardware_id, server.hardwareId);
    assert.equal(typeof license_signature_v2, 'string');
  });

  test('signed with the cloud keys or by the server alone', (t) => {
    const portal = createTestPortal(t, { maxActivations: 2 });
    given(portal.activate(createCarriedServer('a').request({ licenseKey: portal.key }, portal.cloud.keys)));
    given(portal.activate(createCarriedServer('b').request({ licenseKey: portal.key })));
    const signers = listEvents(portal.store, portal.licenseId, 100)
      .filter(({ kind }) => kind === 'request_answered')
      .map(({ facts }) => facts.signed_by);
    assert.deepEqual(signers, ['server', 'cloud-keys']);
  });

  test('whose key was given separately if the request has none', (t) => {
    const portal = createTestPortal(t);
    const server = createCarriedServer();
    assert.equal(refused(portal.activate(server.request())), 'missing_parameters');
    given(portal.activate(server.request(), portal.key));
    const named = server.request({ licenseKey: portal.key });
    given(portal.activate(named, portal.key));
    assert.equal(
      refused(portal.activate(server.request({ licenseKey: portal.key }), 'K-X')),
      'validation_error',
    );
  });

  test('and the vendor sees the device with its details', (t) => {
    const portal = createTestPortal(t);
    given(portal.activate(createCarriedServer('m-7').request({ licenseKey: portal.key, hostname: 'bow' })));
    const [device] = listDevices(portal.store, null);
    assert.deepEqual(
      [device?.hardwareId, device?.host.hostname, device?.host.appVersion, device?.licenseKey],
      ['m-7', 'bow', '0.1.0', portal.key],
    );
  });
});

describe('a request works once', () => {
  test('the same file again gets the same file, and no second device', (t) => {
    const portal = createTestPortal(t, { maxActivations: null });
    const file = createCarriedServer().request({ licenseKey: portal.key });
    const first = given(portal.activate(file));
    const before = portal.dump();
    portal.cloud.now += HOUR_MS;
    assert.deepEqual(given(portal.activate(file)), first);
    assert.deepEqual(given(portal.activate(`${file}\n`)), first);
    assert.equal(portal.dump(), before);
  });

  test('the same file again is answered after the license was changed, reset and disabled', (t) => {
    const portal = createTestPortal(t);
    const file = createCarriedServer().request({ licenseKey: portal.key });
    const first = given(portal.activate(file));
    changeLicense(portal.store, { key: portal.key, user: null, terms: { slots: 9 } }, portal.cloud.now);
    resetLicense(portal.store, portal.key, portal.cloud.now);
    setLicenseEnabled(portal.store, portal.key, false, portal.cloud.now);
    const before = portal.dump();
    assert.deepEqual(given(portal.activate(file)), first);
    assert.equal(portal.dump(), before);
  });

  test('the same id with anything else is refused, whatever the case of its letters', (t) => {
    const portal = createTestPortal(t, { maxActivations: null });
    const server = createCarriedServer();
    const requestId = randomUUID();
    given(portal.activate(server.request({ requestId, licenseKey: portal.key })));
    const other = portal.cloud.grant({ slots: 1 });
    const before = portal.dump();
    for (const wish of [
      { hostname: 'beta' },
      { hardwareId: 'machine-2' },
      { requestId: requestId.toUpperCase() },
      { licenseKey: other },
    ]) {
      const file = server.request({ requestId, licenseKey: portal.key, ...wish });
      assert.equal(refused(portal.activate(file)), 'offline_request_used', JSON.stringify(wish));
    }
    const back = server.request({ requestId, licenseKey: portal.key, request: 'deactivation' });
    assert.equal(refused(portal.deactivate(back)), 'offline_request_used');
    assert.equal(portal.dump(), before);
  });

  test('a request without a key works for one license', (t) => {
    const portal = createTestPortal(t);
    const file = createCarriedServer().request();
    const first = given(portal.activate(file, portal.key));
    const other = portal.cloud.grant({ slots: 1 });
    assert.equal(refused(portal.activate(file, other)), 'offline_request_used');
    assert.deepEqual(given(portal.activate(file, portal.key)), first);
  });

  test('a new request of the same machine is the same device, with a newer file', (t) => {
    const portal = createTestPortal(t);
    const server = createCarriedServer();
    const dates = Array.from({ length: 3 }, () => {
      const answer = given(portal.activate(server.request({ licenseKey: portal.key })));
      return portal.readFile(answer.file).fields.date as string;
    });
    assert.deepEqual(dates, [...new Set(dates)].sort(), 'though the clock stands still');
    portal.cloud.now -= HOUR_MS;
    const answer = given(portal.activate(server.request({ licenseKey: portal.key })));
    assert.ok((portal.readFile(answer.file).fields.date as string) > (dates[2] as string), 'or runs back');
    assert.equal(listDevices(portal.store, null).length, 1);
  });
});

describe('a request is refused', () => {
  test('if it would be over the network, and nothing is stored', (t) => {
    const portal = createTestPortal(t);
    const { store, key, cloud } = portal;
    const server = createCarriedServer('machine-9');
    const attempt = (wish = {}) => {
      const before = portal.dump();
      const code = refused(portal.activate(server.request({ licenseKey: key, product: 'cad', ...wish })));
      assert.equal(portal.dump(), before, code);
      return code;
    };
    assert.equal(attempt({ product: 'cam' }), 'license_not_found');
    assert.equal(attempt({ licenseKey: 'K-NONE' }), 'license_not_found');
    assert.equal(attempt({ licenseKey: 'K-NONE', product: null }), 'license_not_found');
    cloud.grant({}, { product: 'cam' });
    assert.equal(attempt({ product: 'cam' }), 'license_not_found', 'of that product');
    const ofUser = cloud.grant({}, { product: 'crm', user: { name: 'ann', passwordHash: 'x' } });
    assert.equal(
      attempt({ licenseKey: ofUser, product: null }),
      'license_not_found',
      'whose password is missing',
    );
    setLicenseEnabled(store, key, false, cloud.now);
    assert.equal(attempt(), 'license_not_enabled');
    setLicenseEnabled(store, key, true, cloud.now);
    blockDevice(store, 'machine-9', cloud.now);
    assert.equal(attempt(), 'blacklisted');
    given(portal.activate(createCarriedServer('machine-1').request({ licenseKey: key })));
    assert.equal(
      refused(portal.activate(createCarriedServer('m-2').request({ licenseKey: key }))),
      'license_activated_max_times',
    );
    changeLicense(store, { key, user: null, terms: { validUntil: cloud.now } }, cloud.now);
    assert.equal(attempt(), 'license_expired');
  });

  test('if no known key has signed it', (t) => {
    const portal = createTestPortal(t);
    const { cloud, key } = portal;
    const server = createCarriedServer();
    const before = portal.dump();
    const by = (keys: { apiKey: string; sharedKey: string }) =>
      refused(portal.activate(server.request({ licenseKey: key }, keys)));
    assert.equal(by({ ...cloud.keys, apiKey: 'nobody' }), 'invalid_api_key');
    assert.equal(by({ ...cloud.keys, sharedKey: 'wrong' }), 'signature_mismatch');
    const { serverKey } = createCarriedServer();
    assert.equal(
      refused(portal.activate(server.request({ licenseKey: key, serverKey }))),
      'signature_mismatch',
    );
    assert.equal(portal.dump(), before);
    disableKey(portal.store, 'test', cloud.now);
    assert.equal(by(cloud.keys), 'invalid_api_key');
  });
});

describe('the key of a server', () => {
  test('stays the one that its machine is known by, while it has a license', (t) => {
    const portal = createTestPortal(t);
    const { key, cloud } = portal;
    given(portal.activate(createCarriedServer('m').request({ licenseKey: key })));
    const stranger = createCarriedServer('m');
    const before = portal.dump();
    for (const request of ['activation', 'deactivation'] as const) {
      const file = stranger.request({ request, licenseKey: key });
      const answer = request === 'activation' ? portal.activate(file) : portal.deactivate(file);
      assert.equal(refused(answer), 'signature_mismatch', request);
    }
    assert.equal(portal.dump(), before);
    given(portal.activate(stranger.request({ licenseKey: key }, cloud.keys)));
    given(portal.deactivate(stranger.request({ request: 'deactivation', licenseKey: key })));
  });

  test('changes when the vendor has reset its licenses and approved it', (t) => {
    const portal = createTestPortal(t);
    const [old, replaced] = [createCarriedServer('m'), createCarriedServer('m')];
    given(portal.activate(old.request({ licenseKey: portal.key })));
    resetLicense(portal.store, portal.key, portal.cloud.now);
    const file = replaced.request({ licenseKey: portal.key });
    assert.equal(refused(portal.activate(file)), 'server_key_not_approved', 'the machine is not a new one');
    given(portal.approve(replaced));
    given(portal.activate(file));
    assert.equal(refused(portal.activate(old.request({ licenseKey: portal.key }))), 'signature_mismatch');
  });

  test('is valid for what it activated itself, not for other activations', async (t) => {
    const portal = createTestPortal(t);
    const { cloud } = portal;
    const second = cloud.grant({ slots: 1 });
    const server = createCarriedServer('m');
    given(portal.activate(server.request({ licenseKey: portal.key })));
    await cloud.post('activate_license', { product: 'cad', license_key: second, hardware_id: 'm' });
    const back = server.request({ request: 'deactivation', licenseKey: second });
    assert.equal(refused(portal.deactivate(back)), 'server_key_not_approved');
    given(portal.approve(server));
    given(portal.deactivate(back));
  });

  test('no longer counts once something else activates the license again', async (t) => {
    const portal = createTestPortal(t);
    const first = createCarriedServer('m');
    given(portal.activate(first.request({ licenseKey: portal.key })));
    const who = { product: 'cad', license_key: portal.key, hardware_id: 'm' };
    await portal.cloud.post('activate_license', who);
    const back = first.request({ request: 'deactivation', licenseKey: portal.key });
    assert.equal(refused(portal.deactivate(back)), 'server_key_not_approved');
  });
});

describe('a refresh', () => {
  test('is newer, says what is granted now, and carries the newer signature alone', (t) => {
    const portal = createTestPortal(t);
    const server = createCarriedServer();
    const first = portal.readFile(given(portal.activate(server.request({ licenseKey: portal.key }))).file);
    changeLicense(portal.store, { key: portal.key, user: null, terms: { slots: 7 } }, portal.cloud.now);
    const { fields, license } = portal.readFile(given(portal.refresh()).file);
    assert.equal(license.floating_users, 7);
    assert.equal(fields.hardware_id, server.hardwareId);
    assert.ok((fields.date as string) > (first.fields.date as string));
    assert.deepEqual([fields.request_id, fields.license_signature], [undefined, undefined]);
  });

  test('is for a device that has the license', (t) => {
    const portal = createTestPortal(t, { maxActivations: 2 });
    assert.equal(refused(portal.refresh()), 'device_not_found');
    for (const id of ['a', 'b']) {
      given(portal.activate(createCarriedServer(id).request({ licenseKey: portal.key })));
    }
    assert.equal(refused(portal.refresh()), 'missing_parameters', 'of two one has to be said');
    assert.equal(given(portal.refresh('b')).hardwareId, 'b');
    assert.equal(refused(portal.refresh('c')), 'device_not_found');
    setLicenseEnabled(portal.store, portal.key, false, portal.cloud.now);
    assert.equal(refused(portal.refresh('b')), 'license_not_enabled');
  });
});

test('a request for a user can only be answered by the vendor', (t) => {
  const portal = createTestPortal(t);
  const { cloud, store } = portal;
  const user = { name: 'ann', passwordHash: 'x' };
  const key = cloud.grant({ slots: 2 }, { product: 'crm', user });
  const server = createCarriedServer('of-ann');
  const request = server.request({ product: 'crm', username: 'ann' });
  const before = portal.dump();
  assert.equal(refused(portal.activate(request, null, '192.0.2.1')), 'missing_parameters');
  assert.equal(refused(portal.activate(request, key, '192.0.2.1')), 'license_not_found');
  const ofBob = server.request({ product: 'crm', username: 'bob' });
  assert.equal(refused(portal.activate(ofBob)), 'missing_parameters');
  assert.equal(refused(portal.activate(ofBob, key)), 'license_not_found');
  assert.equal(portal.dump(), before);
  const answer = given(portal.activate(request));
  assert.deepEqual([answer.licenseKey, answer.username], [key, 'ann']);
  const [event] = listEvents(store, given(getLicense(store, key)).id, 1);
  assert.equal(event?.facts.username, 'ann');
});
