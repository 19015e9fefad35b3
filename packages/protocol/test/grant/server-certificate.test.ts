import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import { type RsaKeys, rsaKeysOf } from '../../../../test/support/rsa-keys.ts';
import { okpJwkOf } from '../../src/grant/jws.ts';
import { readCertificates, writeCertificate } from '../../src/grant/server-certificate.ts';

const OLD = rsaKeysOf('vendor');
const NEW = rsaKeysOf('next vendor');
const STRANGER = rsaKeysOf('stranger');

const issue = (signer: RsaKeys, hardwareId = 'here') =>
  writeCertificate(
    { hardwareId, licenses: [], key: okpJwkOf(KEY.publicKey), issuedAt: 1_000, expiresAt: 90_000 },
    signer.privateKey,
  );
const KEY = generateKeyPairSync('ed25519');

describe('certificates that somebody brings', () => {
  test('are one if they have the same content under several keys of the vendor', () => {
    const both = [issue(NEW), issue(OLD)];
    for (const known of [[OLD], [NEW], [OLD, NEW]]) {
      const read = readCertificates(
        both,
        known.map(({ publicKey }) => publicKey),
      );
      assert.deepEqual(
        read.map(({ texts, hardwareId }) => [texts, hardwareId]),
        [[both, 'here']],
      );
    }
  });

  test('are none without a key that is known', () => {
    assert.deepEqual(readCertificates([issue(NEW), issue(OLD)], [STRANGER.publicKey]), []);
    assert.deepEqual(readCertificates([issue(OLD)], []), []);
  });

  test('are several if their content differs, and only those that the vendor has signed', () => {
    const given = [issue(OLD), issue(OLD, 'there'), issue(STRANGER, 'nowhere'), 'junk', 7, null, issue(OLD)];
    const read = readCertificates(given, [OLD.publicKey]);
    assert.deepEqual(
      read.map(({ hardwareId, texts }) => [hardwareId, texts.length]),
      [
        ['here', 1],
        ['there', 1],
      ],
    );
  });
});
