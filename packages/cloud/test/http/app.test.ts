import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isSignedBy, SIGNATURE_HEADER } from '@berth/protocol/cloud/vendor-signature';
import { SECURITY_HEADERS } from '@berth/web/reply';
import {
  type Answer,
  createTestCloud,
  signedHeaders,
  type TestCloud,
} from '../../../../test/support/cloud/test-cloud.ts';
import { CONTENT_POLICY } from '../../src/http/sign-reply.ts';

function assertSigned(cloud: TestCloud, { headers, bytes }: Answer): void {
  assert.ok(isSignedBy(cloud.publicKey, bytes, headers.get(SIGNATURE_HEADER) ?? ''));
  const expected = { ...SECURITY_HEADERS, 'Content-Security-Policy': CONTENT_POLICY };
  for (const [name, value] of Object.entries(expected)) assert.equal(headers.get(name), value);
  assert.equal(headers.get('date'), new Date(cloud.now).toUTCString());
}

describe('every answer', () => {
  test('is signed, and has the security headers', async (t) => {
    const cloud = createTestCloud(t);
    const who = { product: 'cad', license_key: cloud.grant(), hardware_id: 'm' };
    const answers = [
      await cloud.post('activate_license', who),
      await cloud.get('check_license', who),
      await cloud.post('deactivate_license', who),
      await cloud.get('product_details', { product: 'cad' }),
      await cloud.post('activate_license', {}),
      await cloud.post('activate_license', who, {}),
      await cloud.send('/nothing', {}),
      await cloud.send('/', {}),
      await cloud.send('/health', {}),
      await cloud.send('/portal', {}),
      await cloud.send('/portal/offline', { method: 'POST' }),
    ];
    for (const answer of answers) assertSigned(cloud, answer);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200, 400, 400, 404, 200, 200, 200, 400],
    );
  });

  test('has another signature when it changes', async (t) => {
    const cloud = createTestCloud(t);
    const { bytes, headers } = await cloud.send('/health', {});
    const forged = Buffer.from(bytes);
    forged[2] = (forged[2] as number) ^ 1;
    assert.ok(!isSignedBy(cloud.publicKey, forged, headers.get(SIGNATURE_HEADER) ?? ''));
  });
});

describe('an invalid request', () => {
  test('to an unknown path gets JSON', async (t) => {
    const cloud = createTestCloud(t);
    const { status, body } = await cloud.send('/api/v3/activate_license', { method: 'POST' });
    assert.deepEqual([status, body.status, body.code], [404, 404, 'not_found']);
  });

  test('with another method is told the right one', async (t) => {
    const cloud = createTestCloud(t);
    const { status, body, headers } = await cloud.send('/api/v4/activate_license', {});
    assert.deepEqual([status, body.code, headers.get('allow')], [405, 'method_not_allowed', 'POST, OPTIONS']);
  });

  test('with a body of more than 64 KiB is refused', async (t) => {
    const cloud = createTestCloud(t);
    const { status, body } = await cloud.post('activate_license', { user_info: 'x'.repeat(64 * 1024) });
    assert.deepEqual([status, body.code], [413, 'payload_too_large']);
  });

  test('with a body that is not JSON, or a repeated parameter, is refused', async (t) => {
    const cloud = createTestCloud(t);
    const headers = signedHeaders(cloud.keys, cloud.now);
    const text = await cloud.send('/api/v4/activate_license', { method: 'POST', headers, body: '{' });
    assert.equal(text.body.code, 'invalid_json');
    const twice = await cloud.send('/api/v4/check_license?product=a&product=b', { headers });
    assert.equal(twice.body.code, 'validation_error');
  });

  test('a bug is reported without details, and logged with them', async (t) => {
    const cloud = createTestCloud(t);
    cloud.folder.store.db.exec('DROP TABLE consumption_total');
    const who = { product: 'cad', license_key: cloud.grant(), hardware_id: 'm' };
    const answer = await cloud.post('activate_license', who);
    assert.deepEqual([answer.status, answer.body.code], [500, 'internal_error']);
    assert.doesNotMatch(answer.text, /consumption_total/);
    assert.match(cloud.log.join('\n'), /consumption_total/);
    assertSigned(cloud, answer);
  });
});

describe('other routes', () => {
  test('a product describes itself', async (t) => {
    const cloud = createTestCloud(t);
    cloud.grant();
    const { body } = await cloud.get('product_details', { product: 'cad' });
    const { product_id, ...facts } = body as Record<string, unknown>;
    assert.ok(Number(product_id) >= 1000);
    const expected = {
      short_code: 'cad',
      product_name: 'cad',
      authorization_method: 'license-key',
      metadata: {},
    };
    assert.deepEqual(facts, expected);
    assert.equal((await cloud.get('product_details', {})).body.code, 'missing_parameters');
    assert.equal((await cloud.get('product_details', { product: 'x' })).body.code, 'unknown_product');
  });

  test('the log has neither secrets nor addresses', async (t) => {
    const cloud = createTestCloud(t);
    const key = cloud.grant();
    await cloud.get('check_license', { product: 'cad', license_key: key, hardware_id: 'machine-7' });
    const log = cloud.log.join('\n');
    assert.match(log, /"route":"check","status":400,"code":"license_not_active"/);
    for (const secret of [key, 'machine-7', cloud.keys.apiKey, cloud.keys.sharedKey]) {
      assert.ok(!log.includes(secret));
    }
  });
});
