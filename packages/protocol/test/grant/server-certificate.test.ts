import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, test } from 'node:test';
import { okpJwkOf } from '../../src/grant/jws.ts';
import { readCertificates, writeCertificate } from '../../src/grant/server-certificate.ts';

const [OLD, NEW, STRANGER] = [1, 2, 3].map(() => generateKeyPairSync('rsa', { modulusLength: 2048 })) as [
  Pair,
  Pair,
  Pair,
];
type Pair = { readonly privateKey: KeyObject; readonly publicKey: KeyObject };

const issue = (signer: Pair, hardwareId = 'here') =>
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
