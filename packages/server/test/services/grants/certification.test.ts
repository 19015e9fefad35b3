import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import { type OkpJwk, okpJwkOf } from '@berth/protocol/grant/jws';
import { readKeyStatement } from '@berth/protocol/grant/key-statement';
import { readCertificates, writeCertificate } from '@berth/protocol/grant/server-certificate';
import { certifiedLicense } from '../../../../../test/support/certified-license.ts';
import { type RsaKeys, rsaKeysOf } from '../../../../../test/support/rsa-keys.ts';
import { openTestStore, readEvents } from '../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../test/support/test-license.ts';
import { DAY_MS, MINUTE_MS } from '../../../src/core/nouns/instant.ts';
import type { Certificate, License } from '../../../src/core/nouns/license.ts';
import { createCertificateDoubts } from '../../../src/services/grants/certificate-doubts.ts';
import { createCertification } from '../../../src/services/grants/certification.ts';
import { createGrantKeys } from '../../../src/services/grants/grant-keys.ts';

const VENDOR = rsaKeysOf('vendor');
const NEXT = rsaKeysOf('next vendor');
const LICENSE = testLicense(7);
const HERE = 'here';

interface Offer {
  readonly license?: License;
  readonly hardwareId?: string;
  readonly issuedAt?: number;
  readonly signers?: readonly RsaKeys[];
}

async function open(t: TestContext) {
  const { store, clock } = await openTestStore(t, [LICENSE]);
  const errors: string[] = [];
  const log = { error: (_: object, text: string) => errors.push(text), info: () => {} };
  const keys = createGrantKeys(store, clock.readMonotonicMs);
  const certification = createCertification(store, keys, createCertificateDoubts(store, log as never));
  const ownKey = async () => (await keys.list())[0].jwk;
  const offer = (
    key: OkpJwk,
    { license = LICENSE, hardwareId = HERE, issuedAt = 0, ...more }: Offer = {},
  ) => {
    const facts = { hardwareId, licenses: [certifiedLicense(license)], key, issuedAt };
    const { signers = [VENDOR] } = more;
    const texts = signers.map((one) =>
      writeCertificate({ ...facts, expiresAt: issuedAt + DAY_MS }, one.privateKey),
    );
    return readCertificates(texts, [VENDOR.publicKey as never]);
  };
  const accept = (offered: ReturnType<typeof offer>, known?: Certificate | null, isDemanded = true) =>
    certification.accept(offered, {
      license: LICENSE,
      hardwareId: HERE,
      known: known ?? undefined,
      isDemanded,
    });
  const told = async () => {
    const events = await readEvents(store);
    return events.flatMap(({ kind }) => (/^certificate_(wrong|missing|right)$/.test(kind) ? [kind] : []));
  };
  return { certification, keys, ownKey, offer, accept, told, errors };
}

describe('a certificate from the vendor', () => {
  test('is asked for with the key that signs now', async (t) => {
    const { certification, keys, ownKey } = await open(t);
    const before = await certification.request(HERE);
    await keys.rotate('admin');
    const after = await certification.request(HERE);
    assert.notEqual(before.kid, after.kid);
    const { hardwareId, grantKey } = readKeyStatement(after.text) ?? assert.fail('It is none.');
    assert.deepEqual([hardwareId, grantKey], [HERE, await ownKey()]);
  });

  test('is kept once a day, and at once if anything has changed', async (t) => {
    const { keys, ownKey, offer, accept } = await open(t);
    const own = await ownKey();
    const first = await accept(offer(own));
    assert.ok(first !== null);
    assert.equal(await accept(offer(own, { issuedAt: DAY_MS - 1 }), first), null);
    assert.ok((await accept(offer(own, { issuedAt: DAY_MS }), first)) !== null);
    const raised = testLicense(7, { slots: 6 });
    assert.ok((await accept(offer(own, { license: raised, issuedAt: MINUTE_MS }), first)) !== null);
    const both = await accept(offer(own, { signers: [VENDOR, NEXT] }), first);
    assert.equal(both?.texts.length, 2, 'under the next key of the vendor, too');
    await keys.rotate('admin');
    assert.ok((await accept(offer(await ownKey()), first)) !== null);
  });

  test('is not kept for another machine, license or key', async (t) => {
    const { ownKey, offer, accept, keys, told } = await open(t);
    const own = await ownKey();
    assert.equal(await accept(offer(own, { hardwareId: 'there' })), null);
    assert.equal(await accept(offer(own, { license: testLicense(8) })), null);
    await keys.rotate('admin');
    assert.equal(await accept(offer(own)), null, 'the key was replaced meanwhile');
    assert.deepEqual(await told(), []);
  });
});

describe('a doubtful certificate', () => {
  test('is told once, until the right one is there', async (t) => {
    const { ownKey, offer, accept, told, errors } = await open(t);
    const other = okpJwkOf(generateKeyPairSync('ed25519').publicKey);
    const first = await accept(offer(await ownKey()));
    for (let times = 0; times < 2; times++) {
      assert.equal(await accept(offer(other), first, false), null);
      assert.equal(await accept([], first), null);
    }
    assert.deepEqual([await told(), errors.length], [['certificate_wrong', 'certificate_missing'], 2]);
    await accept(offer(await ownKey()), first);
    const over = ['certificate_right', 'certificate_right'];
    assert.deepEqual(await told(), ['certificate_wrong', 'certificate_missing', ...over]);
    await accept([], first);
    assert.equal((await told()).at(-1), 'certificate_missing', 'it is a new one');
  });

  test('is none if there was none before, or nobody had to send one', async (t) => {
    const { ownKey, offer, accept, told } = await open(t);
    await accept([]);
    await accept([], await accept(offer(await ownKey())), false);
    assert.deepEqual(await told(), []);
  });
});
