import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { digestRequest } from '@berth/protocol/cloud/cloud-binding';
import { isSignedBy, SIGNATURE_HEADER } from '@berth/protocol/cloud/vendor-signature';
import {
  type Answer,
  createTestCloud,
  signedHeaders,
  type TestCloud,
} from '../../../../test/support/cloud/test-cloud.ts';

const NONCE = '0123456789abcdef0123456789abcdef';
const MACHINE = 'machine-1';

function withNonce(cloud: TestCloud, nonce = NONCE) {
  return { ...signedHeaders(cloud.keys, cloud.now), 'Berth-Nonce': nonce };
}

function bindingOf({ body }: Answer) {
  const { nonce, license_id, hardware_id, request_digest } = body as Record<string, unknown>;
  return { nonce, license_id, hardware_id, request_digest };
}

function assertSigned(cloud: TestCloud, { bytes, headers }: Answer) {
  assert.ok(isSignedBy(cloud.publicKey, bytes, headers.get(SIGNATURE_HEADER) ?? ''));
}

describe('an answer to a request with a nonce', () => {
  test('repeats nonce, license, machine and request inside what is signed', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant({ consumption: { max: 10 } });
    const who = { product: 'cad', license_key: key, hardware_id: MACHINE };
    const activated = await cloud.post('activate_license', who, withNonce(cloud));
    const { id } = activated.body;
    const answers = {
      activate_license: activated,
      add_consumption: await cloud.post('add_consumption', { ...who, report_id: 'r' }, withNonce(cloud)),
      deactivate_license: await cloud.post('deactivate_license', who, withNonce(cloud)),
    };
    for (const [operation, answer] of Object.entries(answers)) {
      const fields = operation === 'add_consumption' ? { ...who, report_id: 'r' } : who;
      const expected = {
        nonce: NONCE,
        license_id: id,
        hardware_id: MACHINE,
        request_digest: digestRequest(operation, JSON.stringify(fields)),
      };
      assert.deepEqual(bindingOf(answer), expected, operation);
      assertSigned(cloud, answer);
    }
    assert.equal(answers.deactivate_license.body.code, 'license_deactivated');
  });

  test('is bound if it refuses, as far as the request was read', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant();
    const who = { product: 'cad', license_key: key, hardware_id: MACHINE };
    const headers = withNonce(cloud);
    const refused = await cloud.get('check_license', who, headers);
    assert.equal(refused.body.code, 'license_not_active');
    const digest = digestRequest('check_license', `${new URLSearchParams(who)}`);
    assert.deepEqual(bindingOf(refused), {
      ...{ nonce: NONCE, hardware_id: MACHINE, request_digest: digest },
      license_id: cloud.folder.store.sql.findLicense.get(key)?.id,
    });
    const unknown = await cloud.get('check_license', { ...who, license_key: 'other' }, headers);
    assert.equal(unknown.body.code, 'license_not_found');
    assert.equal(bindingOf(unknown).license_id, null);
    assert.equal(bindingOf(unknown).hardware_id, MACHINE);
    const nobody = await cloud.get('check_license', who, { 'Berth-Nonce': NONCE });
    assert.equal(nobody.body.code, 'invalid_api_key');
    const nothing = { nonce: NONCE, license_id: null, hardware_id: null, request_digest: null };
    assert.deepEqual(bindingOf(nobody), nothing);
    assert.deepEqual(bindingOf(await cloud.send('/nowhere', { headers })), nothing);
    for (const answer of [refused, unknown, nobody]) assertSigned(cloud, answer);
  });
});

describe('an answer to a request without a nonce', () => {
  for (const nonce of [null, '', 'abc', `${NONCE}0`, 'g'.repeat(32)]) {
    test(`has the shape it always had: ${JSON.stringify(nonce)}`, async (t) => {
      const cloud = createTestCloud(t);
      const who = { product: 'cad', license_key: cloud.grant(), hardware_id: MACHINE };
      const headers = nonce === null ? signedHeaders(cloud.keys, cloud.now) : withNonce(cloud, nonce);
      const activated = await cloud.post('activate_license', who, headers);
      assert.equal('nonce' in activated.body || 'request_digest' in activated.body, false);
      const given = await cloud.post('deactivate_license', who, headers);
      assert.equal(given.text, 'license_deactivated');
      const refused = await cloud.post('deactivate_license', who, headers);
      assert.deepEqual(Object.keys(refused.body), ['status', 'code', 'message']);
    });
  }
});
