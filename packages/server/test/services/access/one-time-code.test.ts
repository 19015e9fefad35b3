import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  addressOfSecret,
  codeAt,
  findStep,
  hashRecoveryCode,
  isSecret,
  makeRecoveryCodes,
  makeSecret,
  stepAt,
} from '../../../src/services/access/one-time-code.ts';

/** "12345678901234567890", as the RFCs have it. */
const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

describe('codes of an authenticator app', () => {
  test('are those of RFC 4226, appendix D', () => {
    const codes = Array.from({ length: 10 }, (_, step) => codeAt(SECRET, step));
    const expected = '755224 287082 359152 969429 338314 254676 287922 162583 399871 520489';
    assert.deepEqual(codes, expected.split(' '));
  });

  for (const [seconds, code] of [
    [59, '287082'],
    [1111111109, '081804'],
    [1111111111, '050471'],
    [1234567890, '005924'],
    [2000000000, '279037'],
    [20000000000, '353130'],
  ] as const) {
    test(`are those of RFC 6238, appendix B, at ${seconds} s`, () => {
      assert.equal(codeAt(SECRET, stepAt(seconds * 1000)), code);
    });
  }

  test('count in their own half minute, the one before and the one after', () => {
    const steps = [-2, -1, 0, 1, 2].map((apart) => findStep(SECRET, codeAt(SECRET, 50 + apart), 50 * 30_000));
    assert.deepEqual(steps, [null, 49, 50, 51, null]);
    for (const code of ['', '12345', '1234567', '12345é']) assert.equal(findStep(SECRET, code, 0), null);
  });

  test('come from a random secret that apps can read', () => {
    const secrets = new Set(Array.from({ length: 50 }, makeSecret));
    assert.equal(secrets.size, 50);
    for (const secret of secrets) assert.ok(isSecret(secret), secret);
    for (const text of ['', SECRET.slice(1), `${SECRET}A`, SECRET.toLowerCase()]) assert.ok(!isSecret(text));
    const url = new URL(addressOfSecret(SECRET, 'ada@x', 'Licenses: Oslo & Rome'));
    assert.equal(url.href.split('?')[0], 'otpauth://totp/Licenses%3A%20Oslo%20%26%20Rome:ada%40x');
    assert.deepEqual(
      [url.searchParams.get('secret'), url.searchParams.get('issuer')],
      [SECRET, 'Licenses: Oslo & Rome'],
    );
  });

  test('have ten recovery codes, which are hashed for one account however they are typed', () => {
    const codes = makeRecoveryCodes();
    assert.equal(new Set(codes).size, 10);
    const [code = ''] = codes;
    assert.match(code, /^[a-z2-9]{5}-[a-z2-9]{5}-[a-z2-9]{5}$/);
    const hash = hashRecoveryCode('ada', code);
    assert.equal(hashRecoveryCode('ada', ` ${code.toUpperCase().replaceAll('-', ' ')} `), hash);
    assert.notEqual(hashRecoveryCode('bob', code), hash);
  });
});
