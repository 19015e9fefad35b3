import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, test } from 'node:test';
import { rsaKeysOf } from '../../../../test/support/rsa-keys.ts';
import { base64url, okpJwkOf, readJws, readOkpKey, thumbprintOf, writeJws } from '../../src/grant/jws.ts';
import { readKeyStatement, writeKeyStatement } from '../../src/grant/key-statement.ts';
import {
  type CertifiedLicense,
  readCertificate,
  writeCertificate,
} from '../../src/grant/server-certificate.ts';

/** The key of RFC 8037, appendix A. */
const X = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo';
const RFC_KEY = createPrivateKey({
  key: { kty: 'OKP', crv: 'Ed25519', d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A', x: X },
  format: 'jwk',
});
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const RSA = rsaKeysOf('vendor');

describe('a compact JWS', () => {
  test('names keys as RFC 8037 does', () => {
    assert.deepEqual(okpJwkOf(RFC_KEY), { kty: 'OKP', crv: 'Ed25519', x: X });
    assert.equal(thumbprintOf(okpJwkOf(RFC_KEY)), 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k');
    assert.ok(readOkpKey({ kty: 'OKP', crv: 'Ed25519', x: X }) !== null);
    for (const other of [
      null,
      {},
      { kty: 'OKP', crv: 'X25519', x: X },
      { kty: 'EC', crv: 'Ed25519', x: X },
      { kty: 'OKP', crv: 'Ed25519', x: `${X}A` },
      { kty: 'OKP', crv: 'Ed25519', x: X.replace(/o$/, 'p') },
    ]) {
      assert.equal(readOkpKey(other), null, JSON.stringify(other));
    }
  });

  test('is read if it is of the expected type and algorithm, and signed', () => {
    const text = writeJws({ alg: 'EdDSA', typ: 'a+jwt' }, { one: 1 }, privateKey);
    const read = readJws(text, 'EdDSA', 'a+jwt');
    assert.deepEqual([read?.claims, read?.isSignedBy(publicKey)], [{ one: 1 }, true]);
    assert.equal(read?.isSignedBy(readOkpKey(okpJwkOf(RFC_KEY)) as KeyObject), false);
    assert.equal(read?.isSignedBy(RSA.publicKey), false, 'a key of another kind');
    assert.equal(readJws(text, 'EdDSA', 'b+jwt'), null);
    assert.equal(readJws(text, 'RS256', 'a+jwt'), null);
  });

  test('is refused in any other form', () => {
    const text = writeJws({ alg: 'EdDSA', typ: 'a+jwt' }, {}, privateKey);
    const [header = '', payload = '', signature = ''] = text.split('.');
    const none = base64url('{"alg":"none","typ":"a+jwt"}');
    for (const other of [
      '',
      `${header}.${payload}`,
      `${header}.${payload}.`,
      `${text}.`,
      `${text}=`,
      ` ${text}`,
      `${none}.${payload}.${signature}`,
      `${header}.${base64url('[]')}.${signature}`,
      `${header}.${base64url('{"a":1,"a":2}')}.${signature}`,
      `${header}.${Buffer.from([0xff]).toString('base64url')}.${signature}`,
      `${header}.${payload}.${signature.slice(0, -1)}${signature.endsWith('A') ? 'B' : 'A'}`,
      `${header}.${'A'.repeat(1_100_000)}.${signature}`,
    ]) {
      const read = readJws(other, 'EdDSA', 'a+jwt');
      assert.ok(read === null || !read.isSignedBy(publicKey), other.slice(0, 200));
    }
  });
});

test('a key statement counts as it was signed', () => {
  const grantKey = okpJwkOf(RFC_KEY);
  const text = writeKeyStatement('here', grantKey, privateKey);
  const serverKey = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  assert.deepEqual(readKeyStatement(text), { hardwareId: 'here', serverKey, grantKey });
  const elsewhere = writeKeyStatement('elsewhere', grantKey, privateKey).split('.');
  const [header, , signature] = text.split('.');
  assert.equal(readKeyStatement(`${header}.${elsewhere[1]}.${signature}`), null);
  assert.equal(readKeyStatement('nothing'), null);
});

const CERTIFIED: CertifiedLicense = {
  license_id: 7,
  product: 'cad',
  limits: {
    license_type: 'perpetual',
    is_trial: false,
    floating_users: 5,
    floating_timeout: 10,
    max_borrow_time: 24,
    validity_period: null,
    max_consumptions: 0,
    allow_unlimited_consumptions: false,
  },
  features: [],
  ends_at: null,
};

test('a certificate counts if this vendor has signed it, and nothing else that it signs does', () => {
  const key = okpJwkOf(publicKey);
  const facts = { hardwareId: 'here', licenses: [CERTIFIED], key, issuedAt: 1_000, expiresAt: 90_000 };
  const text = writeCertificate(facts, RSA.privateKey);
  assert.deepEqual(readCertificate(text, RSA.publicKey), { ...facts, text, kid: thumbprintOf(key) });
  const stranger = rsaKeysOf('stranger');
  assert.equal(readCertificate(text, stranger.publicKey), null);
  const claims = JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString());
  const signed = (typ: string, more: object) =>
    writeJws({ alg: 'RS256', typ }, { ...claims, ...more }, RSA.privateKey);
  assert.ok(readCertificate(signed('berth-server+jwt', {}), RSA.publicKey) !== null);
  assert.equal(readCertificate(signed('JWT', {}), RSA.publicKey), null);
  for (const wrong of [
    { hardware_id: 1 },
    { licenses: 7 },
    { licenses: [7] },
    { licenses: [{ ...CERTIFIED, license_id: '7' }] },
    { licenses: [{ ...CERTIFIED, limits: null }] },
    { cnf: null },
    { cnf: { jwk: { ...key, crv: 'X25519' } } },
    { expires_at: 'soon' },
    { issued_at: undefined },
  ]) {
    assert.equal(
      readCertificate(signed('berth-server+jwt', wrong), RSA.publicKey),
      null,
      JSON.stringify(wrong),
    );
  }
});
