import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { describe, test } from 'node:test';
import type { GrantClaims } from '@berth/protocol/grant/grant-claims';
import { type OkpJwk, thumbprintOf, writeJws } from '@berth/protocol/grant/jws';
import { tamper } from '../../../../../../test/support/damage.ts';
import { rsaKeysOf } from '../../../../../../test/support/rsa-keys.ts';
import { openTestApp, readEvents, START, type TestApp } from '../../../../../../test/support/test-app.ts';
import { testLicense } from '../../../../../../test/support/test-license.ts';
import { type Verdict, verifyGrant } from '../../../../../../test/support/verify-grant.ts';
import { HOUR_MS, MINUTE_MS, plus } from '../../../../src/core/nouns/instant.ts';
import { exampleFeature } from '../../../core/examples.ts';

const NONCE = 'a-nonce_of-24-characters';
const LICENSE = testLicense(7, { features: [exampleFeature('export'), exampleFeature('render')] });
const BORROWED_UNTIL = new Date(plus(START, HOUR_MS)).toISOString();
const { publicKey: vendorKey } = rsaKeysOf('vendor');

const open = (t: Parameters<typeof openTestApp>[0]) => openTestApp(t, { licenses: [LICENSE] });

async function readKeys({ get }: TestApp): Promise<readonly (OkpJwk & { readonly kid: string })[]> {
  const { body } = await get('/.well-known/jwks.json');
  return body.keys as (OkpJwk & { readonly kid: string })[];
}

async function verifyHere(app: TestApp, grant: unknown, now: number = START): Promise<Verdict> {
  const known = await readKeys(app);
  return verifyGrant({ vendorKey, certificate: null, grant: String(grant), nonce: NONCE, now, known });
}

async function claimsOf(app: TestApp, path: string, body: object): Promise<GrantClaims> {
  const { status, body: answer } = await app.post(path, {
    product: 'cad',
    user: 'ada',
    nonce: NONCE,
    ...body,
  });
  assert.equal(status, 200);
  const verdict = await verifyHere(app, answer.grant);
  assert.ok(verdict.accepted, 'reason' in verdict ? verdict.reason : '');
  assert.equal(verdict.by, 'server');
  return verdict.claims;
}

const after = (millis: number) => new Date(START + millis).toISOString();

describe('a grant', () => {
  test('names the computer that the request has named', async (t) => {
    const app = await open(t);
    const device_mark = 'b3f1-mark_of-a-computer';
    assert.equal((await claimsOf(app, '/api/v4/borrow', { device_mark })).device_mark, device_mark);
    assert.equal((await claimsOf(app, '/api/v4/register', {})).device_mark, null, 'each request for itself');
    const { status, body } = await app.post('/api/v4/borrow', { product: 'cad', device_mark: 'a computer' });
    assert.deepEqual([status, body.code, body.field], [400, 'validation_error', 'device_mark']);
  });

  test('says what was lent: a slot, a borrow, a slot of a feature', async (t) => {
    const app = await open(t);
    const lent = await claimsOf(app, '/api/v4/register', {});
    assert.deepEqual(lent, {
      license_id: 7,
      product: 'cad',
      limits: {
        license_type: LICENSE.type,
        is_trial: false,
        floating_users: LICENSE.slots,
        floating_timeout: LICENSE.timeoutMinutes,
        max_borrow_time: LICENSE.maxBorrowHours,
        validity_period: null,
        max_consumptions: LICENSE.consumption.max,
        allow_unlimited_consumptions: LICENSE.consumption.unlimited,
      },
      features: LICENSE.features.map(({ code, type, consumption, floating }) => ({
        code,
        feature_type: type,
        max_consumptions: consumption.max,
        allow_unlimited_consumptions: consumption.unlimited,
        expiry_date: null,
        floating_users: floating?.slots ?? null,
      })),
      user: 'ada',
      feature: null,
      borrowed: false,
      issued_at: after(0),
      valid_until: after(LICENSE.timeoutMinutes * MINUTE_MS),
      iat: START / 1000,
      exp: (START + LICENSE.timeoutMinutes * MINUTE_MS) / 1000,
      hardware_id: 'test-machine',
      nonce: NONCE,
      device_mark: null,
    });
    const feature = await claimsOf(app, '/api/v4/featureRegister', { feature: 'render' });
    assert.deepEqual([feature.feature, feature.borrowed, feature.license_id], ['render', false, 7]);
    assert.deepEqual(
      feature.features.map(({ code }) => code),
      ['render'],
    );
    const borrowed = await claimsOf(app, '/api/v4/borrow', { borrowed_until: BORROWED_UNTIL });
    assert.deepEqual([borrowed.borrowed, borrowed.valid_until], [true, BORROWED_UNTIL]);
    const both = { feature: 'render', borrowed_until: BORROWED_UNTIL };
    const borrowedFeature = await claimsOf(app, '/api/v4/featureRegister', both);
    assert.deepEqual([borrowedFeature.borrowed, borrowedFeature.valid_until], [true, BORROWED_UNTIL]);
  });

  test('of a feature ends with the slot of the license', async (t) => {
    const app = await open(t);
    await app.post('/api/v4/register', { user: 'ada' });
    app.clock.advance(MINUTE_MS);
    const { valid_until } = await claimsOf(app, '/api/v4/featureRegister', { feature: 'render' });
    assert.equal(valid_until, after(LICENSE.timeoutMinutes * MINUTE_MS));
  });

  test('is not there without a nonce, and the rest of the answer is the same', async (t) => {
    const { post } = await open(t);
    const ask = { product: 'cad', user: 'ada' };
    for (const [path, more] of [
      ['/api/v4/register', {}],
      ['/api/v4/floating/register', {}],
      ['/api/v4/borrow', { borrowed_until: BORROWED_UNTIL }],
      ['/api/v4/featureRegister', { feature: 'render' }],
    ] as const) {
      const { text } = await post(path, { ...ask, ...more });
      for (const nonce of [null, '', ' ']) {
        assert.equal((await post(path, { ...ask, ...more, nonce })).text, text, `${path} ${nonce}`);
      }
      const { body } = await post(path, { ...ask, ...more, nonce: NONCE });
      const { grant, ...rest } = body;
      assert.match(String(grant), /^[\w-]+\.[\w-]+\.[\w-]{86}$/);
      assert.deepEqual(rest, JSON.parse(text), path);
    }
  });

  test('is refused for a nonce that is none', async (t) => {
    const { post } = await open(t);
    for (const nonce of [
      'short',
      'x'.repeat(129),
      'a nonce with a blank',
      'ä'.repeat(20),
      1234567890123456,
      {},
    ]) {
      const { status, body } = await post('/api/v4/register', { user: 'ada', nonce });
      assert.deepEqual([status, body.code, body.field], [400, 'validation_error', 'nonce'], String(nonce));
    }
    for (const nonce of ['x'.repeat(16), 'x'.repeat(128)]) {
      assert.equal((await post('/api/v4/register', { user: 'ada', nonce })).status, 200);
    }
  });

  test('comes with no refusal', async (t) => {
    const { post } = await open(t);
    const { status, body } = await post('/api/v4/register', { product: 'other', user: 'ada', nonce: NONCE });
    assert.deepEqual([status, body.code, body.grant], [400, 'unknown_product', undefined]);
  });

  test('is the same through the fast lane and without it', async (t) => {
    const { post } = await open(t);
    const ask = { product: 'cad', user: 'ada', nonce: NONCE };
    const { text } = await post('/api/v4/register', ask);
    assert.equal((await post('/api/v4/register', ask, { isLeftToNode: true })).text, text);
  });

  test('comes with a minimal answer, too', async (t) => {
    const app = await open(t);
    const ask = { product: 'cad', user: 'ada', nonce: NONCE };
    const { body } = await app.post('/api/v4/register', ask, { headers: { prefer: 'return=minimal' } });
    assert.deepEqual([body.license_id, body.license_key], [7, undefined]);
    assert.ok((await verifyHere(app, body.grant)).accepted);
  });

  test('names the user as they spelled it, and any other text exactly', async (t) => {
    const app = await open(t);
    const { user } = await claimsOf(app, '/api/v4/register', { user: 'Zoë "\\" 🙂' });
    assert.equal(user, 'Zoë "\\" 🙂');
  });
});

describe('a grant is refused', () => {
  test('with any flipped bit, or without its end', async (t) => {
    const app = await open(t);
    const { body } = await app.post('/api/v4/register', { user: 'ada', nonce: NONCE });
    const grant = String(body.grant);
    assert.ok((await verifyHere(app, grant)).accepted);
    const known = await readKeys(app);
    const ask = { vendorKey, certificate: null, nonce: NONCE, now: START, known };
    for (const bytes of tamper(Buffer.from(grant))) {
      const altered = bytes.toString('latin1');
      assert.ok(!verifyGrant({ ...ask, grant: altered }).accepted, altered);
    }
  });

  test('once it has ended, for another nonce, and from a server with another key', async (t) => {
    const app = await open(t);
    const { body } = await app.post('/api/v4/register', { user: 'ada', nonce: NONCE });
    const grant = String(body.grant);
    const end = START + LICENSE.timeoutMinutes * MINUTE_MS;
    assert.ok((await verifyHere(app, grant, end - 1)).accepted);
    assert.deepEqual(await verifyHere(app, grant, end), { accepted: false, reason: 'grant_expired' });
    const known = await readKeys(app);
    const ask = { vendorKey, certificate: null, grant, now: START, known };
    assert.deepEqual(verifyGrant({ ...ask, nonce: `${NONCE}x` }), { accepted: false, reason: 'other_nonce' });
    const other = await open(t);
    const fake = { ...ask, nonce: NONCE, known: await readKeys(other) };
    assert.deepEqual(verifyGrant(fake), { accepted: false, reason: 'grant_invalid' });
    const unknown = verifyGrant({ ...ask, nonce: NONCE, known: [] });
    assert.deepEqual(unknown, { accepted: false, reason: 'unknown_server' });
  });

  test('if something else was signed with its key', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const known = [publicKey.export({ format: 'jwk' }) as unknown as OkpJwk];
    const claims = { nonce: NONCE, valid_until: after(1000) };
    const ask = { vendorKey, certificate: null, nonce: NONCE, now: START, known };
    const signed = (typ: string) => writeJws({ alg: 'EdDSA', typ }, claims, privateKey);
    assert.ok(verifyGrant({ ...ask, grant: signed('berth-grant+jwt') }).accepted);
    const other = verifyGrant({ ...ask, grant: signed('JWT') });
    assert.deepEqual(other, { accepted: false, reason: 'grant_invalid' });
  });
});

describe('the key set', () => {
  test('is public, and cached for a minute', async (t) => {
    const app = await open(t);
    const { status, headers, body } = await app.get('/.well-known/jwks.json');
    assert.deepEqual([status, headers.get('cache-control')], [200, 'public, max-age=60']);
    const [key, ...others] = body.keys as (OkpJwk & { kid: string })[];
    assert.ok(key !== undefined && others.length === 0);
    assert.deepEqual({ ...key, x: '', kid: '' }, { ...EMPTY, use: 'sig', alg: 'EdDSA' });
    assert.equal(key.kid, thumbprintOf(key));
  });

  test('verifies grants with nothing but Node', async (t) => {
    const { post, get } = await open(t);
    const { body } = await post('/api/v4/register', { user: 'ada', nonce: NONCE });
    const [header = '', payload = '', signature = ''] = String(body.grant).split('.');
    const { kid, ...named } = JSON.parse(Buffer.from(header, 'base64url').toString());
    assert.deepEqual(named, { alg: 'EdDSA', typ: 'berth-grant+jwt' });
    const { keys } = (await get('/.well-known/jwks.json')).body as unknown as { keys: { kid: string }[] };
    const jwk = keys.find((key) => key.kid === kid);
    const key = createPublicKey({ key: jwk as never, format: 'jwk' });
    assert.ok(verify(null, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url')));
  });

  test('keeps a replaced key until its grants have ended', async (t) => {
    const app = await open(t);
    const { post, get, clock } = app;
    const ask = { user: 'ada', nonce: NONCE };
    const old = String((await post('/api/v4/borrow', ask)).body.grant);
    const [before] = await readKeys(app);
    const { body } = await post('/api/admin/identity/rotate', {});
    const [made, replaced, ...others] = body.keys as { kid: string; ends_at: string | null }[];
    assert.ok(made !== undefined && replaced !== undefined && others.length === 0);
    assert.deepEqual([made.ends_at, replaced.kid], [null, before?.kid]);
    assert.deepEqual(
      (await readKeys(app)).map(({ kid }) => kid),
      [made.kid, replaced.kid],
    );
    const fresh = String((await post('/api/v4/register', ask)).body.grant);
    assert.ok((await verifyHere(app, old)).accepted);
    assert.ok((await verifyHere(app, fresh)).accepted);
    const kidOf = (grant: string) =>
      JSON.parse(Buffer.from(grant.split('.')[0] ?? '', 'base64url').toString());
    assert.deepEqual([kidOf(old).kid, kidOf(fresh).kid], [replaced.kid, made.kid]);
    clock.advance(Date.parse(String(replaced.ends_at)) - START - 1);
    assert.equal((await readKeys(app)).length, 2);
    clock.advance(MINUTE_MS);
    assert.deepEqual(
      (await readKeys(app)).map(({ kid }) => kid),
      [made.kid],
    );
    const { keys, licenses } = (await get('/api/admin/identity')).body as Record<string, unknown[]>;
    assert.equal(keys?.length, 1);
    assert.deepEqual(licenses, [
      { license_id: 7, product: 'cad', kid: made.kid, certificate: null, uncertified: null },
    ]);
    const events = (await readEvents(app.store)).filter(({ kind }) => kind === 'grant_key_rotated');
    assert.deepEqual(
      events.map((event) => 'replaced' in event && [event.kid, event.replaced]),
      [[made.kid, replaced.kid]],
    );
  });
});

const EMPTY = { kty: 'OKP', crv: 'Ed25519', x: '', kid: '' };
