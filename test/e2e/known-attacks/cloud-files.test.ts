import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readLicenseFile, writeLicenseFile } from '@berth/protocol/carried/license-file';
import {
  ACTIVATE,
  type AttackedCloud,
  CHECK,
  findError,
  openAttackedCloud,
  play,
  REPORT,
  type Recorded,
  type Who,
} from '../../support/cloud/attacked-link.ts';
import { openCloudApp } from '../../support/cloud/cloud-app.ts';
import { openOfflineApp } from '../../support/cloud/offline-app.ts';
import { TEST_VENDOR } from '../../support/cloud/test-vendor.ts';
import { startBefore } from '../../support/start-before.ts';

/** A vendor signs files and answers with one key. Attacks with one of them in the place of another. */
let link: AttackedCloud;
startBefore(async (life) => {
  link = await openAttackedCloud(life);
});

/** The vendor's files for a license, as the cloud writes them. */
async function writeFiles(hardwareId: string) {
  const key = await link.grant('--unlimited-activations');
  const who = { product: 'cad', license_key: key, hardware_id: hardwareId };
  const { license_signature: _, ...license } = JSON.parse((await link.record(ACTIVATE, who)).body);
  const dated = { ...license, date: '2030-01-01T00:00:00.000Z' };
  const { hardware_id: __, device_id: ___, ...grantedTo } = dated;
  const policy = { ...grantedTo, default_license_type: license.license_type };
  const write = (fields: object) => writeLicenseFile({ ...fields }, link.signingKey, { withFirst: false });
  const files = {
    policy: write(policy),
    'license file': write({ ...dated, request_id: '0b0e4f5c-6d1f-4a53-9a0e-4c5f4a2d8c11' }),
    refresh: write(dated),
  };
  return { who, files, policyId: String(license.id) };
}

/** Its text as a body, and its signature in the header of answers. */
function asAnswer(file: string): Recorded {
  const { fields, signedText: body } = readLicenseFile(file);
  return { code: 200, body, headers: { LicenseSignature: String(fields.license_signature_v2) } };
}

describe('a file of the vendor served as an answer of the cloud', () => {
  for (const kind of ['policy', 'license file', 'refresh'] as const) {
    test(`activates no server, and renews no license: a ${kind}`, async (t) => {
      const { app } = await link.openServer(t, 'older');
      const hardwareId = `paid-nothing-${kind.length}`;
      const { who, files } = await writeFiles(hardwareId);
      const fresh = await openCloudApp(t, { vendor: link.vendor, hardwareId });
      play(fresh, ACTIVATE, asAnswer(files[kind]));
      const { license_key: licenseKey } = who;
      const added = await fresh.post('/api/v4/addProduct', { product: 'cad', licenseKey });
      assert.equal(added.body.code, 'cloud_unavailable');
      assert.deepEqual(await fresh.catalogue.list(null), []);
      play(app, CHECK, asAnswer(files[kind]));
      assert.equal((await findError(app))?.reason, 'not_understood');
    });
  }
});

describe('a file of the vendor used as another kind of file', () => {
  test('is refused: a policy is no license file, and a license file is no policy', async (t) => {
    const app = await openOfflineApp(t, { vendorKey: link.vendorKey, hardwareId: 'offline-machine' });
    const { who, files, policyId } = await writeFiles('offline-machine');
    const uploaded = await app.post('/api/v4/license/upload', files.policy);
    assert.equal(uploaded.body.code, 'offline_file_invalid');
    const { license_key } = who;
    const codes = { license_key, policy_id: policyId, confirmation_code: confirmFor(who, policyId) };
    for (const license_policy of [files['license file'], files.refresh]) {
      const installed = await app.post('/api/v4/airgap/license', { ...codes, license_policy });
      assert.equal(installed.body.code, 'airgap_policy_invalid', installed.text);
    }
    assert.deepEqual(await app.catalogue.list(null), []);
    const right = await app.post('/api/v4/airgap/license', { ...codes, license_policy: files.policy });
    assert.equal(right.status, 200, right.text);
  });
});

function confirmFor(who: Who, policyId: string): string {
  return TEST_VENDOR.confirm(who.hardware_id, who.license_key, policyId);
}

describe('the answer to a report', () => {
  test('is not accepted for a check', async (t) => {
    const { app, who } = await link.openServer(t, 'older');
    play(app, CHECK, await link.record(REPORT, { ...who, consumptions: 0 }));
    assert.equal((await findError(app))?.reason, 'not_understood');
  });
});

describe('an answer of the cloud as a file', () => {
  const encode = (fields: object) => Buffer.from(JSON.stringify(fields)).toString('base64');

  for (const nonce of [null, 'd'.repeat(32)]) {
    test(`is no license file and no policy, ${nonce === null ? 'without' : 'with'} a nonce`, async (t) => {
      const app = await openOfflineApp(t, { vendorKey: link.vendorKey, hardwareId: 'offline-machine' });
      const key = await link.grant('--unlimited-activations');
      const who = { product: 'cad', license_key: key, hardware_id: 'offline-machine' };
      const { body, headers } = await link.record(ACTIVATE, who, nonce);
      const license = JSON.parse(body);
      const signature = { license_signature_v2: headers.LicenseSignature };
      const { license_signature: _, ...unsigned } = license;
      for (const fields of [license, unsigned, { ...license, date: '2030-01-01T00:00:00Z' }]) {
        const file = encode({ ...fields, ...signature });
        const uploaded = await app.post('/api/v4/license/upload', file);
        assert.match(String(uploaded.body.code), /^offline_(file_invalid|signature_mismatch)$/);
        const installed = await app.post('/api/v4/airgap/license', {
          license_policy: file,
          license_key: key,
          policy_id: String(license.id),
          confirmation_code: confirmFor(who, String(license.id)),
        });
        assert.equal(installed.body.code, 'airgap_policy_invalid');
      }
      assert.deepEqual(await app.catalogue.list(null), []);
    });
  }
});
