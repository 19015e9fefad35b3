import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import { isConfirmationCode, readInitializationCode } from '@berth/protocol/carried/airgap-codes';
import { groupGrantKey } from '@berth/protocol/carried/typed-code';
import { okpJwkOf } from '@berth/protocol/grant/jws';
import { readCertificate } from '@berth/protocol/grant/server-certificate';
import { createCarriedServer } from '../../../../../test/support/cloud/carried-server.ts';
import { createTestPortal, given, refused, told } from '../../../../../test/support/cloud/test-portal.ts';
import { cutShort, flipBits } from '../../../../../test/support/damage.ts';
import { createFileWriter } from '../../../src/http/portal/write-files.ts';
import { blockDevice, listDevices } from '../../../src/store/devices.ts';
import { listEvents } from '../../../src/store/events.ts';
import { changeLicense, resetLicense, setLicenseEnabled } from '../../../src/store/licenses.ts';
import { refreshFile } from '../../../src/store/offline/license-files.ts';

const HOUR_MS = 60 * 60 * 1000;

/** A license whose initialization code was given to a server behind an air gap. */
function createStarted(t: TestContext, hardwareId = 'vault') {
  const portal = createTestPortal(t, { slots: 5, consumption: { max: 10 }, maxActivations: 2 });
  const server = createCarriedServer(hardwareId);
  const initializationCode = portal.start();
  const activationCode = server.activationCode(portal.key, initializationCode);
  return { ...portal, server, initializationCode, codes: { hardwareId, activationCode } };
}

describe('the codes', () => {
  test('activate the license, and create a policy that the server can trust', (t) => {
    const { confirm, codes, cloud, key, licenseId, readFile, store } = createStarted(t);
    const answer = given(confirm(codes));
    assert.equal(answer.policyId, String(licenseId));
    const publicKey = createPublicKey(cloud.folder.airgapKey);
    const facts = { hardwareId: 'vault', licenseKey: key, policyId: answer.policyId };
    assert.ok(isConfirmationCode(publicKey, facts, answer.confirmationCode));
    const { fields, license } = readFile(answer.policyFile);
    assert.deepEqual([license.id, license.floating_users, license.license_key], [licenseId, 5, key]);
    assert.equal(fields.default_license_type, fields.license_type);
    assert.equal(fields.date, new Date(cloud.now).toISOString());
    for (const name of ['hardware_id', 'device_id', 'request_id', 'license_signature']) {
      assert.ok(!(name in fields), name);
    }
    assert.deepEqual(
      listDevices(store, null).map(({ hardwareId }) => hardwareId),
      ['vault'],
    );
  });

  test('get the same answer when repeated, and work once', (t) => {
    const { confirm, codes, server, key, initializationCode, dump, cloud } = createStarted(t);
    const answer = given(confirm(codes));
    const before = dump();
    cloud.now += HOUR_MS;
    assert.deepEqual(given(confirm(codes)), answer);
    const another = { ...codes, activationCode: server.activationCode(key, initializationCode) };
    assert.notEqual(another.activationCode, codes.activationCode);
    assert.equal(refused(confirm(another)), 'airgap_code_invalid', 'the initialization code is used up');
    const elsewhere = createCarriedServer('second');
    const second = {
      hardwareId: 'second',
      activationCode: elsewhere.activationCode(key, initializationCode),
    };
    assert.equal(refused(confirm(second)), 'airgap_code_invalid');
    assert.equal(dump(), before);
  });

  test('of a second start replace those of the first', (t) => {
    const { confirm, codes, start, server, key } = createStarted(t);
    const next = start();
    assert.equal(refused(confirm(codes)), 'airgap_code_invalid');
    given(confirm({ ...codes, activationCode: server.activationCode(key, next) }));
  });

  test('are random private numbers', (t) => {
    const { start } = createStarted(t);
    const made = new Set(Array.from({ length: 20 }, start));
    assert.equal(made.size, 20);
    for (const code of made) assert.ok(readInitializationCode(code) !== null);
  });

  test('leave a record that contains none of them', (t) => {
    const { confirm, codes, store, licenseId, initializationCode } = createStarted(t);
    const { confirmationCode } = given(confirm(codes));
    const events = listEvents(store, licenseId, 10);
    assert.deepEqual(
      events.map(({ kind }) => kind),
      ['airgap_confirmed', 'license_file_issued', 'device_activated', 'airgap_started', 'license_created'],
    );
    const text = JSON.stringify(events);
    for (const code of [initializationCode, confirmationCode, codes.activationCode]) {
      assert.ok(!text.includes(code));
    }
  });
});

describe('a code is refused, and nothing is stored', () => {
  test('with any bit flipped, cut short, or for something else', (t) => {
    const { confirm, codes, dump, cloud, key } = createStarted(t);
    const other = cloud.grant();
    const before = dump();
    const attempt = (wrong: object) =>
      assert.equal(refused(confirm({ ...codes, ...wrong })), 'airgap_code_invalid', JSON.stringify(wrong));
    for (const bytes of flipBits(codes.activationCode)) attempt({ activationCode: bytes.toString() });
    for (const short of cutShort(codes.activationCode)) attempt({ activationCode: short });
    attempt({ hardwareId: 'vault2' });
    assert.equal(refused(confirm({ ...codes, key: other })), 'airgap_code_invalid');
    attempt({ key: `${key}X` });
    for (const hardwareId of ['', ' ', '\u001b[2J', 'x'.repeat(257)]) {
      assert.equal(refused(confirm({ ...codes, hardwareId })), 'validation_error');
    }
    assert.equal(dump(), before);
    given(confirm(codes));
  });

  test('without an initialization code there is nothing to match', (t) => {
    const { confirm, key } = createTestPortal(t);
    const server = createCarriedServer('vault');
    // The number tried instead of a missing one is not secret.
    const known = Buffer.alloc(32, 1).toString('base64');
    const codes = { hardwareId: 'vault', activationCode: server.activationCode(key, known) };
    assert.equal(refused(confirm(codes)), 'airgap_code_invalid');
  });

  test('if an activation over the network would be refused', (t) => {
    const { confirm, codes, store, key, cloud, dump } = createStarted(t);
    const attempt = (code: string) => {
      const before = dump();
      assert.equal(refused(confirm(codes)), code);
      assert.equal(dump(), before);
    };
    setLicenseEnabled(store, key, false, cloud.now);
    attempt('license_not_enabled');
    setLicenseEnabled(store, key, true, cloud.now);
    blockDevice(store, 'vault', cloud.now);
    attempt('blacklisted');
    changeLicense(store, { key, user: null, terms: { validUntil: cloud.now } }, cloud.now);
    attempt('license_expired');
  });

  test('if the license has reached its limit of machines', (t) => {
    const { confirm, codes, activate, key } = createStarted(t);
    for (const id of ['a', 'b']) given(activate(createCarriedServer(id).request({ licenseKey: key })));
    assert.equal(refused(confirm(codes)), 'license_activated_max_times');
  });
});

describe('a newer policy', () => {
  test('has the current terms, and is later than all before', (t) => {
    const { confirm, codes, policy, readFile, store, key, cloud, licenseId } = createStarted(t);
    const first = readFile(given(confirm(codes)).policyFile);
    changeLicense(store, { key, user: null, terms: { slots: 8 } }, cloud.now);
    const renewed = given(policy());
    const { fields, license } = readFile(renewed.file);
    assert.deepEqual([license.floating_users, renewed.policyId], [8, String(licenseId)]);
    assert.ok((fields.date as string) > (first.fields.date as string));
    assert.ok(!('hardware_id' in fields));
  });

  test('needs a machine that is activated by codes', (t) => {
    const { confirm, codes, policy, activate, store, key, cloud } = createStarted(t);
    given(activate(createCarriedServer('by-file').request({ licenseKey: key })));
    assert.equal(refused(policy()), 'device_not_found');
    given(confirm(codes));
    given(policy());
    resetLicense(store, key, cloud.now);
    assert.equal(refused(policy()), 'device_not_found');
  });
});

describe('the certificate of a server that was activated by codes', () => {
  const newKey = () => okpJwkOf(generateKeyPairSync('ed25519').publicKey).x;

  /** The certificate in a policy. */
  const certified = ({ cloud, readFile }: ReturnType<typeof createStarted>, file: string) => {
    const { server_certificates: texts } = readFile(file).fields;
    return texts === undefined ? null : readCertificate((texts as string[])[0] as string, cloud.publicKey);
  };

  test('is issued by the vendor alone, and then with newer policies', (t) => {
    const vault = createStarted(t);
    const answer = given(vault.confirm(vault.codes));
    assert.deepEqual([certified(vault, answer.policyFile), answer.certificateEndsAt], [null, null]);
    assert.equal(certified(vault, given(vault.policy()).file), null);
    assert.equal(refused(vault.certify(null)), 'missing_parameters');
    const grantKey = newKey();
    const issued = given(vault.certify(groupGrantKey(grantKey).toLowerCase()));
    assert.equal(issued.endsAt, vault.cloud.now + 365 * 24 * HOUR_MS);
    vault.cloud.now += HOUR_MS;
    const policy = given(vault.policy());
    const certificate = certified(vault, policy.file);
    assert.deepEqual(
      [certificate?.key.x, certificate?.hardwareId, certificate?.licenses.map(({ license_id: id }) => id)],
      [grantKey, 'vault', [vault.licenseId]],
    );
    assert.equal(certificate?.expiresAt, policy.certificateEndsAt);
    const newer = newKey();
    given(vault.certify(newer));
    assert.equal(certified(vault, given(vault.policy()).file)?.key.x, newer);
    assert.deepEqual(given(vault.confirm(vault.codes)), answer, 'the codes still get the same answer');
  });

  test('speaks for no other license of a machine with the same id', (t) => {
    const vault = createStarted(t);
    const { cloud, store } = vault;
    const key = cloud.grant({ slots: 5 });
    given(vault.activate(createCarriedServer('vault').request({ licenseKey: key })));
    given(vault.confirm(vault.codes));
    given(vault.certify(newKey(), 'vault'));
    const writer = createFileWriter(cloud.folder.keyRing.read(), cloud.now);
    const refreshed = given(refreshFile(store, { key, hardwareId: 'vault' }, writer, cloud.now));
    assert.equal(certified(vault, refreshed.file), null);
  });

  test('is not issued for a mistyped key', (t) => {
    const vault = createStarted(t);
    given(vault.confirm(vault.codes));
    const before = vault.dump();
    for (const grantKey of ['mistyped', `${newKey()}A`, groupGrantKey(newKey()).slice(0, -1)]) {
      assert.equal(refused(vault.certify(grantKey)), 'validation_error');
    }
    assert.equal(vault.dump(), before);
  });
});

test('a machine activated by codes can deactivate and report by file', (t) => {
  const { confirm, codes, server, usage, deactivate, approve, licenseId, key, store } = createStarted(t);
  given(confirm(codes));
  const file = server.usage(told(licenseId, key, 3));
  assert.equal(refused(usage(file)), 'server_key_not_approved', 'codes say nothing about its key');
  given(approve(server));
  given(usage(file));
  const stranger = createCarriedServer('vault');
  const back = { request: 'deactivation', licenseKey: key } as const;
  assert.equal(refused(deactivate(stranger.request(back))), 'signature_mismatch');
  given(deactivate(server.request(back)));
  assert.deepEqual(listDevices(store, null), []);
});
