import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import { CERTIFICATE_PROOF_HEADER } from '@berth/protocol/cloud/certificate-proof';
import type { CloudKeys } from '@berth/protocol/cloud/cloud-authorization';
import { digestRequest, NONCE_HEADER } from '@berth/protocol/cloud/cloud-binding';
import { okpJwkOf } from '@berth/protocol/grant/jws';
import { KEY_STATEMENT_HEADER } from '@berth/protocol/grant/key-statement';
import { readCertificate } from '@berth/protocol/grant/server-certificate';
import { createAskingServer } from '../../../../../test/support/cloud/asking-server.ts';
import { createCarriedServer } from '../../../../../test/support/cloud/carried-server.ts';
import { START } from '../../../../../test/support/cloud/test-cloud.ts';
import { createTestPortal, given, refused, told } from '../../../../../test/support/cloud/test-portal.ts';
import { blockDevice, listDevices, unblockDevice } from '../../../src/store/devices.ts';
import { listEvents } from '../../../src/store/events.ts';
import { createKey } from '../../../src/store/keys/keys.ts';
import { listWaitingKeys } from '../../../src/store/keys/waiting-keys.ts';
import { changeLicense, resetLicense, setLicenseEnabled } from '../../../src/store/licenses.ts';

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
const newKey = () => okpJwkOf(generateKeyPairSync('ed25519').publicKey).x;

/** A vendor with a license of one customer, and that customer's pair of keys. */
function openVendor(t: TestContext) {
  const portal = createTestPortal(t, { slots: 5, maxActivations: null });
  const { cloud, store, key } = portal;
  changeLicense(store, { key, user: null, customer: 'acme', terms: {} }, START);
  const keys = createKey(store, 'acme', START, 'acme') as CloudKeys;
  return {
    ...portal,
    keys,
    server: createAskingServer(cloud, 'server-1', keys),
    read: (text: string | undefined) => readCertificate(text ?? '', cloud.publicKey),
    /** What the vendor can see. */
    list: (kind: string) => listEvents(store, null, 1000).filter((event) => event.kind === kind),
    change: (terms: object) => changeLicense(store, { key, user: null, terms }, cloud.now),
  };
}

type Vendor = ReturnType<typeof openVendor>;

/** The certificate in a file, or `null`. */
function certifiedIn({ readFile, read }: Vendor, { file }: { readonly file: string }) {
  const { server_certificates: texts } = readFile(file).fields;
  return texts === undefined ? null : read((texts as readonly string[])[0]);
}

describe('a server that proves the pair of keys of the customer', () => {
  test('gets a certificate with its activation and with every check', async (t) => {
    const vendor = openVendor(t);
    const { server, key, read, cloud, licenseId } = vendor;
    for (const ask of [server.activate, server.check, server.check]) {
      cloud.now += HOUR_MS;
      const { certificates } = await ask(key);
      const certificate = read(certificates[0]);
      assert.deepEqual(
        [certificates.length, certificate?.key.x, certificate?.hardwareId],
        [1, server.x, 'server-1'],
      );
      assert.deepEqual([certificate?.issuedAt, certificate?.expiresAt], [cloud.now, cloud.now + 30 * DAY_MS]);
      assert.deepEqual(
        certificate?.licenses.map(({ license_id: id }) => id),
        [licenseId],
      );
    }
    assert.equal(vendor.list('certificate_issued').length, 1, 'an event only when something has changed');
    vendor.change({ slots: 9 });
    const raised = read((await server.check(key)).certificates[0]);
    assert.equal(raised?.licenses[0]?.limits.floating_users, 9);
    server.rotate();
    assert.equal(read((await server.check(key)).certificates[0])?.key.x, server.x);
    assert.equal(vendor.list('certificate_issued').length, 3);
    const [device] = listDevices(vendor.store, null);
    assert.deepEqual([device?.isProven, device?.certifiedUntil], [true, cloud.now + 30 * DAY_MS]);
  });

  test('gets one under each signing key, first under the one that signs answers', async (t) => {
    const { server, key, cloud, list } = openVendor(t);
    const { keyRing } = cloud.folder;
    const signersOf = (texts: readonly string[]) =>
      texts.map((text) => keyRing.read().all.findIndex((one) => readCertificate(text, createPublicKey(one))));
    assert.deepEqual(signersOf((await server.activate(key)).certificates), [0]);
    given(keyRing.add(cloud.now));
    assert.deepEqual(signersOf((await server.check(key)).certificates), [0, 1]);
    given(keyRing.switch(cloud.now));
    assert.deepEqual(signersOf((await server.check(key)).certificates), [0, 1]);
    given(keyRing.retire(cloud.now));
    assert.deepEqual(signersOf((await server.check(key)).certificates), [0]);
    assert.equal(list('certificate_issued').length, 4);
  });

  test('gets none that outlives the license, and a longer one if it may be offline longer', async (t) => {
    const { server, key, read, cloud, change } = openVendor(t);
    await server.activate(key);
    const daysLeft = async () =>
      ((read((await server.check(key)).certificates[0])?.expiresAt ?? 0) - cloud.now) / DAY_MS;
    change({ maxOfflineDays: 90 });
    assert.equal(await daysLeft(), 90);
    change({ validUntil: cloud.now + 10 * DAY_MS, graceHours: 24 });
    assert.equal(await daysLeft(), 11);
  });
});

describe('no certificate is issued online', () => {
  const none = { [CERTIFICATE_PROOF_HEADER]: undefined };

  test('without a proof of the whole request, and all else is answered as before', async (t) => {
    const { server, key, store, cloud, list } = openVendor(t);
    const other = { ...cloud.keys };
    const attempts = {
      'no proof': { sent: none },
      'no nonce': { sent: { [NONCE_HEADER]: undefined } },
      'an empty proof': { sent: { [CERTIFICATE_PROOF_HEADER]: '' } },
      'another date': { proven: { date: new Date(START + 1000).toUTCString() } },
      'another nonce': { proven: { nonce: '0'.repeat(32) } },
      'another body': { proven: { requestDigest: digestRequest('activate_license', '{}') } },
      'another machine': { proven: { hardwareId: 'other' } },
      'another grant key': { proven: { keyStatement: server.stateOther() } },
      'a swapped grant key': { sent: { [KEY_STATEMENT_HEADER]: server.stateOther() } },
      'no statement': { sent: { [KEY_STATEMENT_HEADER]: undefined } },
      'no statement at all': { sent: { [KEY_STATEMENT_HEADER]: 'a.b.c' } },
    };
    for (const [what, change] of Object.entries(attempts)) {
      const { answer, certificates } = await server.activate(key, change);
      assert.deepEqual(
        [answer.status, certificates, 'server_certificates' in answer.body],
        [200, [], false],
        what,
      );
    }
    const [device] = listDevices(store, null);
    assert.deepEqual([device?.grantKey, device?.isProven], [null, false]);
    assert.equal(store.sql.findServerKey.get('server-1'), undefined, 'and no identity is learned');
    const reasons = list('certificate_refused').map(({ facts }) => facts.reason);
    assert.deepEqual(
      [reasons.length, new Set(reasons)],
      [10, new Set(['proof_invalid'])],
      'the vendor sees it',
    );
    assert.equal((await server.check(key, { keys: other })).certificates.length, 1);
  });

  test('a second time for one nonce, as long as its date counts', async (t) => {
    const { server, key, cloud, store, list } = openVendor(t);
    const nonce = '5'.repeat(32);
    const countNonces = () => store.sql.countNonces.get('acme')?.count;
    assert.equal((await server.activate(key, { nonce })).certificates.length, 1);
    assert.equal((await server.activate(key, { nonce })).certificates.length, 0);
    cloud.now += 14 * 60 * 1000;
    assert.equal((await server.check(key, { nonce })).certificates.length, 0);
    assert.deepEqual(
      list('certificate_refused').map(({ facts }) => facts.reason),
      ['nonce_used', 'nonce_used'],
    );
    cloud.now += 16 * 60 * 1000;
    assert.equal((await server.check(key)).certificates.length, 1);
    assert.equal(countNonces(), 1, 'older ones are forgotten');
  });

  test('whose request digest does not cover the grant key', async (t) => {
    const { server, key } = openVendor(t);
    const { answer, requestDigest } = await server.activate(key);
    assert.equal((answer.body as Record<string, unknown>).request_digest, requestDigest);
    const swapped = await server.check(key, { sent: { [KEY_STATEMENT_HEADER]: server.stateOther() } });
    const { request_digest: digest } = swapped.answer.body as Record<string, unknown>;
    assert.notEqual(digest, swapped.requestDigest, 'so that the server notices');
  });

  test('for a machine that is known by another key, or has a license of another customer', async (t) => {
    const { server, key, cloud, store, keys } = openVendor(t);
    await server.activate(key);
    const copy = createAskingServer(cloud, 'server-1', keys);
    assert.equal((await copy.check(key)).certificates.length, 0);
    const [waiting] = listWaitingKeys(store, 'server-1');
    assert.deepEqual([waiting?.asks, waiting?.grantKey], ['certificate', copy.x]);
    const others = cloud.grant({ slots: 1 }, { customer: 'rival' });
    const rival = createAskingServer(
      cloud,
      'server-2',
      createKey(store, 'rival', START, 'rival') as CloudKeys,
    );
    assert.equal((await rival.activate(others, { sent: none })).answer.status, 200);
    const late = createAskingServer(cloud, 'server-2', keys);
    assert.equal((await late.activate(key)).certificates.length, 0, 'it may be the machine of the rival');
    assert.equal((await rival.check(others)).certificates.length, 0, 'or of the customer');
  });
});

describe('a file', () => {
  test('that a stranger sent brings the license, never a certificate', (t) => {
    const vendor = openVendor(t);
    const stranger = createCarriedServer('invented');
    const answer = given(
      vendor.activate(stranger.request({ licenseKey: vendor.key, grantKey: newKey() }), null, '192.0.2.1'),
    );
    assert.deepEqual([certifiedIn(vendor, answer), answer.certificateEndsAt], [null, null]);
    assert.equal(certifiedIn(vendor, given(vendor.refresh())), null);
    assert.equal(refused(vendor.certify(null)), 'missing_parameters');
    const [device] = listDevices(vendor.store, null);
    assert.deepEqual([device?.isProven, device?.certifiedUntil], [false, null]);
  });

  test('that the pair of the customer signed brings one for its grant key', (t) => {
    const vendor = openVendor(t);
    const { cloud, key, keys } = vendor;
    const carried = createCarriedServer('far');
    const grantKey = newKey();
    const answer = given(
      vendor.activate(carried.request({ licenseKey: key, grantKey }, keys), null, '192.0.2.1'),
    );
    const certificate = certifiedIn(vendor, answer);
    assert.equal(certificate?.key.x, grantKey);
    assert.equal(certificate?.expiresAt, cloud.now + 30 * DAY_MS, 'the vendor chose no other date');
    const rotated = newKey();
    const own = given(vendor.activate(carried.request({ licenseKey: key, grantKey: rotated })));
    assert.equal(certifiedIn(vendor, own)?.key.x, rotated, 'the pair vouched for the key that signed it');
    vendor.change({ slots: 8 });
    assert.equal(certifiedIn(vendor, given(vendor.refresh()))?.licenses[0]?.limits.floating_users, 8);
  });

  test('brings one after the vendor has approved the key that signed it', (t) => {
    const vendor = openVendor(t);
    const { key, cloud, store } = vendor;
    const carried = createCarriedServer('far');
    const grantKey = newKey();
    given(vendor.activate(carried.request({ licenseKey: key, grantKey })));
    const approved = given(vendor.approve(carried));
    assert.deepEqual(approved.grantKeys, [grantKey]);
    assert.equal(certifiedIn(vendor, given(vendor.refresh()))?.key.x, grantKey);
    const second = cloud.grant({ slots: 1 }, { customer: 'acme' });
    const later = given(vendor.activate(carried.request({ licenseKey: second, grantKey })));
    assert.equal(certifiedIn(vendor, later)?.key.x, grantKey);
    const others = cloud.grant({ slots: 1 }, { customer: 'rival' });
    const foreign = given(vendor.activate(carried.request({ licenseKey: others, grantKey })));
    assert.equal(certifiedIn(vendor, foreign), null, 'not for the license of another customer');
    assert.equal(listDevices(store, null).filter(({ isProven }) => isProven).length, 2);
  });

  test('of an approved server brings none for a key that another one told', async (t) => {
    const vendor = openVendor(t);
    const { key, store, licenseId } = vendor;
    const stranger = createCarriedServer('far');
    given(vendor.activate(stranger.request({ licenseKey: key, grantKey: newKey() })));
    const honest = createCarriedServer('far');
    store.sql.refreshDevice.run('{}', START, licenseId, 'far');
    assert.equal(refused(vendor.usage(honest.usage(told(licenseId, key, 1)))), 'server_key_not_approved');
    assert.deepEqual(given(vendor.approve(honest)).grantKeys, []);
    assert.equal(certifiedIn(vendor, given(vendor.refresh())), null);
    const grantKey = newKey();
    const answer = given(vendor.activate(honest.request({ licenseKey: key, grantKey })));
    assert.equal(certifiedIn(vendor, answer)?.key.x, grantKey);
  });
});

describe('a machine that was given back', () => {
  /** An approved server with a certificate. */
  function openApproved(t: TestContext) {
    const vendor = openVendor(t);
    const carried = createCarriedServer('far');
    const grantKey = newKey();
    const ask = () => vendor.activate(carried.request({ licenseKey: vendor.key, grantKey }));
    given(ask());
    given(vendor.approve(carried));
    assert.ok(certifiedIn(vendor, given(vendor.refresh())) !== null);
    return { ...vendor, vendor, carried, ask };
  }

  for (const [how, giveBack] of Object.entries({
    'by file': ({ deactivate, carried, key }: ReturnType<typeof openApproved>) =>
      given(deactivate(carried.request({ request: 'deactivation', licenseKey: key }))),
    'by the vendor': ({ store, key, cloud }: ReturnType<typeof openApproved>) =>
      given(resetLicense(store, key, cloud.now)),
    'by barring it': ({ store, cloud }: ReturnType<typeof openApproved>) => {
      given(blockDevice(store, 'far', cloud.now));
      given(unblockDevice(store, 'far', cloud.now));
    },
    'by selling the license on': ({ store, key, cloud }: ReturnType<typeof openApproved>) =>
      given(changeLicense(store, { key, user: null, customer: 'rival', terms: {} }, cloud.now)),
  })) {
    test(`gets no new certificate until it is approved again: ${how}`, (t) => {
      const site = openApproved(t);
      giveBack(site);
      assert.equal(certifiedIn(site.vendor, given(site.ask())), null);
      assert.equal(certifiedIn(site.vendor, given(site.refresh())), null);
      given(site.approve(site.carried));
      assert.ok(certifiedIn(site.vendor, given(site.refresh())) !== null);
    });
  }

  test('over the network gets none with a check, and what it had ends soon', async (t) => {
    const { server, key, cloud, list, store } = openVendor(t);
    await server.activate(key);
    const until = cloud.now + 30 * DAY_MS;
    const who = { product: 'cad', license_key: key, hardware_id: 'server-1' };
    assert.equal((await cloud.post('deactivate_license', who)).status, 200);
    assert.equal((await server.check(key)).certificates.length, 0);
    assert.deepEqual(list('device_deactivated')[0]?.facts, {
      hardware_id: 'server-1',
      certified_until: new Date(until).toISOString(),
    });
    assert.equal((await server.activate(key)).certificates.length, 1, 'it is activated and proven again');
    given(setLicenseEnabled(store, key, false, cloud.now));
    assert.equal((await server.check(key)).certificates.length, 0);
  });
});
