import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { describe, test } from 'node:test';
import {
  CERTIFICATE_PROOF_HEADER,
  isCertificateRequestProven,
} from '@berth/protocol/cloud/certificate-proof';
import { digestRequest, NONCE_HEADER } from '@berth/protocol/cloud/cloud-binding';
import { okpJwkOf, thumbprintOf } from '@berth/protocol/grant/jws';
import { KEY_STATEMENT_HEADER, writeKeyStatement } from '@berth/protocol/grant/key-statement';
import { writeCertificate } from '@berth/protocol/grant/server-certificate';
import { certifiedLicense } from '../../../../test/support/certified-license.ts';
import {
  answer,
  answerWith,
  findFault,
  HOST,
  KEYS,
  LICENSE,
  MACHINE,
  openCloud,
  privateKey,
  type Work,
} from '../../../../test/support/cloud/answering-cloud.ts';
import { testLicense } from '../../../../test/support/test-license.ts';
import { type Cloud, WrongCertificate } from '../../src/cloud/cloud.ts';

const IDENTITY = generateKeyPairSync('ed25519');
const [OWN, OTHER] = [1, 2].map(() => okpJwkOf(generateKeyPairSync('ed25519').publicKey)) as [Jwk, Jwk];
type Jwk = ReturnType<typeof okpJwkOf>;
const STATEMENT = writeKeyStatement('machine', OWN, IDENTITY.privateKey);
const ASKING = { ...MACHINE, keyStatement: { text: STATEMENT, kid: thumbprintOf(OWN) } };

const ASKED: Readonly<Record<string, (cloud: Cloud) => Promise<unknown>>> = {
  activate: (cloud) => cloud.activate(KEYS, ASKING, HOST),
  check: (cloud) => cloud.check(KEYS, ASKING),
};

function headerOf({ headers }: IncomingMessage, name: string): string {
  return String(headers[name.toLowerCase()] ?? '');
}

/** The digest that a cloud computes; `statement`: the key that it has seen in the request. */
function digestOf({ url = '' }: IncomingMessage, body: string, statement: string | null): string {
  const { pathname, search } = new URL(url, 'http://x');
  return digestRequest(pathname.split('/').at(-1) ?? '', body === '' ? search.slice(1) : body, statement);
}

/** A cloud that repeats nonces, and has seen this statement. */
function answerBound(statement: string | null, more: object = {}): Work {
  return (response, request, body) => {
    const binding = {
      nonce: headerOf(request, NONCE_HEADER),
      license_id: 7,
      hardware_id: 'machine',
      request_digest: digestOf(request, body, statement),
    };
    answer(response, 200, JSON.stringify({ ...LICENSE, ...binding, ...more }));
  };
}

const certify = (key: Jwk, id = 7) => {
  const licenses = [certifiedLicense(testLicense(id))];
  return writeCertificate({ hardwareId: 'machine', licenses, key, issuedAt: 0, expiresAt: 1 }, privateKey);
};

for (const [name, ask] of Object.entries(ASKED)) {
  describe(`a request for a certificate with ${name}`, () => {
    test('names the key and proves every part of itself with the shared key', async (t) => {
      const { cloud, seen } = await openCloud(t, answerBound(STATEMENT));
      await ask(cloud);
      const [{ request, body } = assert.fail('Nothing came.')] = seen;
      assert.equal(headerOf(request, KEY_STATEMENT_HEADER), STATEMENT);
      const sent = {
        date: headerOf(request, 'date'),
        nonce: headerOf(request, NONCE_HEADER),
        requestDigest: digestOf(request, body, STATEMENT),
        hardwareId: 'machine',
        keyStatement: STATEMENT,
      };
      const proof = headerOf(request, CERTIFICATE_PROOF_HEADER);
      assert.ok(isCertificateRequestProven(KEYS.sharedKey, sent, proof));
      for (const part of Object.keys(sent)) {
        const other = { ...sent, [part]: `${sent[part as keyof typeof sent]}0` };
        assert.ok(!isCertificateRequestProven(KEYS.sharedKey, other, proof), part);
      }
    });

    test('is not answered if the key was replaced or removed on the way', async (t) => {
      const swapped = writeKeyStatement('machine', OTHER, IDENTITY.privateKey);
      for (const statement of [swapped, null]) {
        const { cloud } = await openCloud(t, answerBound(statement));
        assert.equal(await findFault(ask(cloud)), 'not_bound');
      }
    });

    test('is answered by clouds that know neither nonces nor certificates', async (t) => {
      const { cloud } = await openCloud(t, answerWith(LICENSE));
      const { kind, isBound, value } = (await ask(cloud)) as Awaited<ReturnType<Cloud['check']>> & {
        value: { certificates: readonly unknown[] };
      };
      assert.deepEqual([kind, isBound, value.certificates], ['ok', false, []]);
    });

    test('gets what the vendor has certified, under several keys', async (t) => {
      const texts = [certify(OWN), certify(OWN)];
      const { cloud } = await openCloud(t, answerBound(STATEMENT, { server_certificates: texts }));
      const reply = (await ask(cloud)) as Awaited<ReturnType<Cloud['check']>>;
      assert.ok(reply.kind === 'ok');
      assert.deepEqual(
        reply.value.certificates.map(({ kid }) => kid),
        [thumbprintOf(OWN)],
      );
    });

    for (const [how, server_certificates] of [
      ['alone', [certify(OTHER, 9)]],
      ['beside the right one', [certify(OWN), certify(OTHER, 9)]],
    ] as const) {
      test(`rejects an answer with a certificate for another key, ${how}`, async (t) => {
        for (const work of [
          answerBound(STATEMENT, { server_certificates }),
          // Whoever put the key into the request had it covered by the digest.
          answerBound(writeKeyStatement('machine', OTHER, IDENTITY.privateKey), { server_certificates }),
          answerWith({ ...LICENSE, server_certificates }),
        ]) {
          const { cloud } = await openCloud(t, work);
          const fault: unknown = await ask(cloud).catch((error: unknown) => error);
          assert.ok(fault instanceof WrongCertificate, String(fault));
          assert.deepEqual([fault.kid, fault.licenses], [thumbprintOf(OTHER), [{ id: 9, product: 'cad' }]]);
        }
      });
    }
  });
}
