import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  authorizationHeader,
  isDateSigned,
  parseAuthorization,
  signDate,
} from '../../src/cloud/cloud-authorization.ts';

/** The test vector that is published with the protocol. */
const SHARED_KEY = 'kw4qSnpSwXzgiv5yxYpZZmFEd9QAeiKTQ6OuyMja';
const DATE = 'Tue, 07 Jun 2011 20:51:35 GMT';
const SIGNATURE = 'UDysfR6MndUZReo07Y9r+vErn8vSxrnQ5ulit18iJ/Q=';

describe('the authorization of the licensing cloud', () => {
  test('signs the date as the published test vector says', () => {
    assert.equal(signDate(SHARED_KEY, DATE), SIGNATURE);
  });

  test('reads the header that it writes', () => {
    const header = authorizationHeader({ apiKey: 'api-1', sharedKey: SHARED_KEY }, DATE);
    const expected = `algorithm="hmac-sha256",headers="date",signature="${SIGNATURE}",apikey="api-1"`;
    assert.equal(header, expected);
    assert.deepEqual(parseAuthorization(header), { apiKey: 'api-1', signature: SIGNATURE });
  });

  test('reads names in any case, and spaces around commas', () => {
    const header = `Algorithm="HMAC-SHA256", Headers="date" ,Signature="abc=",  apiKey="k"`;
    assert.deepEqual(parseAuthorization(header), { apiKey: 'k', signature: 'abc=' });
  });

  for (const header of [
    '',
    'Bearer abc',
    'algorithm="hmac-sha1",headers="date",signature="a",apikey="k"',
    'algorithm="hmac-sha256",headers="date host",signature="a",apikey="k"',
    'algorithm="hmac-sha256",headers="date",signature="a"',
    'algorithm="hmac-sha256",headers="date",signature="a",apikey="k",apikey="l"',
    'algorithm=hmac-sha256,headers=date,signature=a,apikey=k',
  ]) {
    test(`refuses ${JSON.stringify(header)}`, () => assert.equal(parseAuthorization(header), null));
  }

  test('distinguishes a right signature from others', () => {
    assert.ok(isDateSigned(SHARED_KEY, DATE, SIGNATURE));
    assert.ok(!isDateSigned(SHARED_KEY, DATE.replace('35', '36'), SIGNATURE));
    assert.ok(!isDateSigned(`${SHARED_KEY}x`, DATE, SIGNATURE));
    assert.ok(!isDateSigned(SHARED_KEY, DATE, SIGNATURE.slice(1)));
    assert.ok(!isDateSigned(SHARED_KEY, DATE, ''));
  });
});
