import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { authorizationHeader, DATE_TOLERANCE_MS } from '@berth/protocol/cloud/cloud-authorization';
import { createTestCloud, START, signedHeaders } from '../../../../test/support/cloud/test-cloud.ts';
import { disableKey } from '../../src/store/keys/keys.ts';

const ASK = { product: 'cad' };
const SECOND_MS = 1000;

describe('who may send requests', () => {
  test('whoever signs the date with the shared key', async (t) => {
    const cloud = createTestCloud(t);
    cloud.grant();
    assert.equal((await cloud.get('product_details', ASK)).status, 200);
  });

  for (const [title, change] of [
    ['no header at all', { Authorization: '' }],
    ['another scheme', { Authorization: 'Bearer abc' }],
    [
      'an unknown key',
      { Authorization: 'algorithm="hmac-sha256",headers="date",signature="abc",apikey="nobody"' },
    ],
  ] as const) {
    test(`not with ${title}`, async (t) => {
      const cloud = createTestCloud(t);
      const headers = { ...signedHeaders(cloud.keys, START), ...change };
      const { status, body } = await cloud.get('product_details', ASK, headers);
      assert.deepEqual([status, body.code], [400, 'invalid_api_key']);
    });
  }

  test('not with a disabled key', async (t) => {
    const cloud = createTestCloud(t);
    disableKey(cloud.folder.store, 'test', START);
    assert.equal((await cloud.get('product_details', ASK)).body.code, 'invalid_api_key');
  });

  test('not with another shared key', async (t) => {
    const cloud = createTestCloud(t);
    const headers = signedHeaders({ ...cloud.keys, sharedKey: 'f'.repeat(64) }, START);
    const { status, body } = await cloud.get('product_details', ASK, headers);
    assert.deepEqual([status, body.code], [400, 'signature_mismatch']);
  });

  test('not with the signature of another date', async (t) => {
    const cloud = createTestCloud(t);
    const headers = signedHeaders(cloud.keys, START);
    const later = new Date(START + SECOND_MS).toUTCString();
    const { body } = await cloud.get('product_details', ASK, { ...headers, Date: later });
    assert.equal(body.code, 'signature_mismatch');
  });
});

describe('when requests are accepted', () => {
  for (const [title, offMs, code] of [
    ['15 minutes late', -DATE_TOLERANCE_MS, undefined],
    ['15 minutes early', DATE_TOLERANCE_MS, undefined],
    ['a second later than that', -DATE_TOLERANCE_MS - SECOND_MS, 'date_not_valid'],
    ['a second earlier than that', DATE_TOLERANCE_MS + SECOND_MS, 'date_not_valid'],
  ] as const) {
    test(title, async (t) => {
      const cloud = createTestCloud(t);
      cloud.grant();
      const { body } = await cloud.get('product_details', ASK, signedHeaders(cloud.keys, START + offMs));
      assert.equal(body.code, code);
    });
  }

  test('a refusal names both times', async (t) => {
    const cloud = createTestCloud(t);
    const { body } = await cloud.get('product_details', ASK, signedHeaders(cloud.keys, 0));
    assert.match(String(body.message), /Thu, 01 Jan 1970 00:00:00 GMT.+Mon, 15 Jun 2026 12:00:00 GMT/);
  });

  test('the date is written as HTTP says, and signed as written', async (t) => {
    const cloud = createTestCloud(t);
    const date = '2026-06-15T12:00:00Z';
    const headers = { Date: date, Authorization: authorizationHeader(cloud.keys, date) };
    assert.equal((await cloud.get('product_details', ASK, headers)).body.code, 'date_not_valid');
  });

  test('never without a date', async (t) => {
    const cloud = createTestCloud(t);
    const { Authorization } = signedHeaders(cloud.keys, START);
    const { body } = await cloud.get('product_details', ASK, { Authorization: Authorization as string });
    assert.equal(body.code, 'date_not_valid');
  });

  test('a wrong key is reported first, then the signature, then the date', async (t) => {
    const cloud = createTestCloud(t);
    const wrong = { apiKey: 'nobody', sharedKey: 'f' };
    const byKey = await cloud.get('product_details', ASK, signedHeaders(wrong, 0));
    assert.equal(byKey.body.code, 'invalid_api_key');
    const bySignature = signedHeaders({ ...wrong, apiKey: cloud.keys.apiKey }, 0);
    assert.equal((await cloud.get('product_details', ASK, bySignature)).body.code, 'signature_mismatch');
  });
});
