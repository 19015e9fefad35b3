import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import { readLicenseFields } from '@berth/protocol/carried/license-file';
import { type OkpJwk, okpJwkOf } from '@berth/protocol/grant/jws';
import { readVendorLicense } from '../../packages/server/src/cloud/vendor-license.ts';
import { NO_TIE } from '../../packages/server/src/core/nouns/license.ts';
import { certifiedLicense } from '../support/certified-license.ts';
import { generate, HARDWARE_ID, openOfflineApp, upload } from '../support/cloud/offline-app.ts';
import { TEST_VENDOR, vendorLicense } from '../support/cloud/test-vendor.ts';
import { readEvents, START, type TestApp } from '../support/test-app.ts';
import { verifyGrant } from '../support/verify-grant.ts';

const NONCE = '0123456789abcdef';
const DAY_MS = 24 * 60 * 60 * 1000;

/** What the vendor certifies: the license with these fields, for this key. */
function certify(key: OkpJwk, fields: object): string {
  const { license } = readVendorLicense(readLicenseFields(vendorLicense(fields as never)));
  const licenses = [certifiedLicense({ ...license, source: 'offline', tie: NO_TIE })];
  const dates = { issuedAt: START, expiresAt: START + 30 * DAY_MS };
  return TEST_VENDOR.certify({ hardwareId: HARDWARE_ID, licenses, key, ...dates });
}

async function readIdentity({ get }: TestApp) {
  const { body } = await get('/api/admin/identity');
  return body as unknown as {
    readonly keys: readonly [{ readonly x: string; readonly kid: string }];
    readonly licenses: readonly [
      { readonly certificate: object | null; readonly uncertified: string | null },
    ];
  };
}

const keyOf = async (app: TestApp): Promise<OkpJwk> => ({
  ...{ kty: 'OKP', crv: 'Ed25519' },
  x: (await readIdentity(app)).keys[0].x,
});

async function lend({ post }: TestApp) {
  const { status, body, text } = await post('/api/v4/register', {
    product: 'cad',
    user: 'ada',
    nonce: NONCE,
  });
  assert.equal(status, 200, text);
  const { grant, certificate = null, other_certificates: otherCertificates = [] } = body as unknown as Proof;
  return {
    vendorKey: TEST_VENDOR.publicKey,
    grant,
    certificate,
    otherCertificates,
    nonce: NONCE,
    now: START,
  };
}

interface Proof {
  readonly grant: string;
  readonly certificate?: string;
  readonly other_certificates?: readonly string[];
}

async function findProblem({ get }: TestApp): Promise<string | undefined> {
  const { body } = await get('/api/admin/doctor');
  const findings = body.findings as { check: string; severity: string; text: string }[];
  return findings.find((one) => one.check === 'grants' && one.severity === 'problem')?.text;
}

async function openCertified(t: TestContext) {
  const app = await openOfflineApp(t);
  const key = await keyOf(app);
  const server_certificates = [certify(key, {})];
  const file = TEST_VENDOR.answer(await generate(app), { server_certificates });
  assert.equal((await upload(app, file)).status, 200);
  return { app, key };
}

const refresh = (app: TestApp, day: number, fields: object) =>
  upload(app, TEST_VENDOR.refresh(HARDWARE_ID, { date: `2030-01-${day}T00:00:00.000Z`, ...fields }));

describe('the certificate of a license', () => {
  test('covers what the license grants, until a file raises it without a new one', async (t) => {
    const { app, key } = await openCertified(t);
    assert.ok(verifyGrant(await lend(app)).accepted);
    assert.deepEqual(
      [(await readIdentity(app)).licenses[0].uncertified, await findProblem(app)],
      [null, undefined],
    );
    const more = { floating_users: 4 };
    assert.equal((await refresh(app, 11, more)).status, 200);
    assert.deepEqual(verifyGrant(await lend(app)), { accepted: false, reason: 'more_than_certified' });
    assert.equal((await readIdentity(app)).licenses[0].uncertified, 'limits.floating_users');
    assert.match((await findProblem(app)) ?? '', /grants more than its certificate .*limits\.floating_users/);
    assert.equal(
      (await refresh(app, 12, { ...more, server_certificates: [certify(key, more)] })).status,
      200,
    );
    assert.ok(verifyGrant(await lend(app)).accepted);
    assert.equal(await findProblem(app), undefined);
    assert.equal((await refresh(app, 13, { floating_users: 2 })).status, 200);
    assert.ok(verifyGrant(await lend(app)).accepted, 'less is fine');
  });

  test('for a key of somebody else in a file is reported, and not used', async (t) => {
    const { app, key } = await openCertified(t);
    const { certificate } = await lend(app);
    const stranger = okpJwkOf(generateKeyPairSync('ed25519').publicKey);
    assert.equal((await refresh(app, 11, { server_certificates: [certify(stranger, {})] })).status, 200);
    assert.equal((await lend(app)).certificate, certificate, 'the one before stays');
    assert.match((await findProblem(app)) ?? '', /certified another key/);
    const told = (await readEvents(app.store)).filter(({ kind }) => kind === 'certificate_wrong');
    assert.equal(told.length, 1);
    assert.ok(app.log.some(({ level, msg }) => level === 50 && /another key/.test(String(msg))));
    assert.equal((await refresh(app, 12, { server_certificates: [certify(key, {})] })).status, 200);
    assert.equal(await findProblem(app), undefined);
  });

  test('in a file that the vendor has not signed says nothing', async (t) => {
    const { app } = await openCertified(t);
    const stranger = okpJwkOf(generateKeyPairSync('ed25519').publicKey);
    const fields = { date: '2030-01-11T00:00:00.000Z', server_certificates: [certify(stranger, {})] };
    const genuine = TEST_VENDOR.refresh(HARDWARE_ID, fields);
    const changed = Buffer.from(genuine, 'base64').toString().replace('"ACME"', '"ACNE"');
    assert.equal(
      (await upload(app, Buffer.from(changed).toString('base64'))).body.code,
      'offline_signature_mismatch',
    );
    assert.equal(await findProblem(app), undefined);
  });
});

describe('a certificate that comes as a file', () => {
  const install = ({ post }: TestApp, certificate: string) =>
    post('/api/admin/identity/certificates', { certificate });

  test('may come under several keys of the vendor, and applications get all of them', async (t) => {
    const app = await openOfflineApp(t);
    const file = TEST_VENDOR.answer(await generate(app));
    assert.equal((await upload(app, file)).status, 200);
    const key = await keyOf(app);
    const [now, next] = [certify(key, {}), TEST_VENDOR.certifyNext(certify(key, {}))];
    const installed = await install(app, `${next}\n\n${now}\n`);
    assert.equal(installed.status, 200, installed.text);
    const lent = await lend(app);
    assert.deepEqual([lent.certificate, lent.otherCertificates], [next, [now]]);
    assert.ok(verifyGrant(lent).accepted);
    assert.ok(verifyGrant({ ...lent, vendorKey: TEST_VENDOR.nextPublicKey }).accepted);
    const minimal = await app.post(
      '/api/v4/register',
      { product: 'cad', user: 'ada', nonce: NONCE },
      { headers: { prefer: 'return=minimal' } },
    );
    assert.deepEqual(minimal.body.other_certificates, [now]);
    assert.equal((await install(app, now)).status, 200);
    assert.deepEqual((await lend(app)).otherCertificates, [], 'the vendor has retired the other key');
  });

  test('is refused as a whole if a part of it is none', async (t) => {
    const { app, key } = await openCertified(t);
    const { certificate } = await lend(app);
    const good = certify(key, { floating_users: 2 });
    const stranger = certify(okpJwkOf(generateKeyPairSync('ed25519').publicKey), {});
    for (const [text, code] of [
      [`${good} junk`, 'server_certificate_invalid'],
      [
        `${good} ${TEST_VENDOR.certifyNext(certify(key, { floating_users: 9 }))}`,
        'server_certificate_invalid',
      ],
      [stranger, 'server_certificate_mismatch'],
    ] as const) {
      const answer = await install(app, text);
      assert.deepEqual([answer.status, answer.body.code], [400, code], answer.text);
    }
    assert.equal((await lend(app)).certificate, certificate);
  });
});
