import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findCertificate } from '../../../src/core/nouns/grant-key.ts';
import { DAY_MS, plus } from '../../../src/core/nouns/instant.ts';
import { type Certificate, NO_TIE } from '../../../src/core/nouns/license.ts';
import { exampleLicense, NOW } from '../examples.ts';

test('a certificate counts until it ends, and on the machine that it was made for', () => {
  const certificate: Certificate = { texts: ['jws'], kid: 'k', issuedAt: NOW, expiresAt: plus(NOW, DAY_MS) };
  const find = (tie: object, now = NOW) =>
    findCertificate(exampleLicense({ tie: { ...NO_TIE, ...tie } }), now);
  assert.equal(find({ certificate }), certificate);
  assert.equal(find({ certificate }, plus(NOW, DAY_MS)), null);
  assert.equal(find({ certificate, movedAt: NOW }), null);
  assert.equal(find({}), null);
});
