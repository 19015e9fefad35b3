import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { readPublicKeys } from '@berth/protocol/cloud/vendor-signature';
import { GRANT_TYPE } from '@berth/protocol/grant/grant-claims';
import { type OkpJwk, writeJws } from '@berth/protocol/grant/jws';
import { readCertificate } from '@berth/protocol/grant/server-certificate';
import { BerthApi, type Facts } from '../support/berth-api.ts';
import { type RunningCloud, startCloudHere } from '../support/cloud/cloud-process.ts';
import { pollUntil } from '../support/poll.ts';
import { rsaKeysOf } from '../support/rsa-keys.ts';
import { startServerHere } from '../support/server-here.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { startBefore } from '../support/start-before.ts';
import { verifyGrant } from '../support/verify-grant.ts';

const NONCE = '0123456789abcdef';
const DAY_MS = 24 * 60 * 60 * 1000;

let life: { after(end: () => unknown): void };
let cloud: RunningCloud;
let vendorKey: KeyObject;
let site: Awaited<ReturnType<typeof openSite>>;

/** A server of a customer of the vendor. */
async function openSite(args: readonly string[] = []) {
  const data = temporaryFolder(life);
  const airgapKey = (await cloud.runText('airgap-public-key')).trim();
  const vendor = ['--cloud-url', cloud.url, '--cloud-public-key', cloud.publicKeyFile];
  const server = await startServerHere({
    data,
    args: [...vendor, '--airgap-public-key', airgapKey, ...args],
  });
  const api = new BerthApi(server.url);
  life.after(async () => {
    api.close();
    await server.stop();
  });
  const ask = async (path: string, body?: Facts) => {
    const answer = await (body === undefined ? api.get(path) : api.post(path, body));
    assert.equal(answer.status, 200, answer.text);
    return answer.body as never;
  };
  return {
    url: server.url,
    api,
    ask,
    setKeys: () => ask('/api/v4/setKeys', { ...cloud.keys }),
    /** A grant with a certificate, if the server has one. */
    async lend(product: string) {
      const body: Facts = await ask('/api/v4/register', { product, user: 'ada', nonce: NONCE });
      const { grant, certificate = null } = body as { grant: string; certificate?: string };
      return { vendorKey, grant, certificate, nonce: NONCE, now: Date.now() };
    },
    identity: async () => (await ask('/api/admin/identity')) as Identity,
  };
}

/** What an application gets with a nonce. */
interface Proven {
  readonly grant: string;
  readonly certificate: string;
  readonly other_certificates?: readonly string[];
}

interface Identity {
  readonly hardware_id: string;
  readonly identity_key: string;
  readonly keys: readonly { readonly kid: string; readonly x: string }[];
  readonly licenses: readonly { readonly license_id: number; readonly kid: string }[];
}

startBefore(async (all) => {
  life = all;
  cloud = await startCloudHere(life);
  vendorKey = createPublicKey(readFileSync(cloud.publicKeyFile));
  site = await openSite();
  await site.setKeys();
});

async function grantAndAdd(product: string, at = site): Promise<string> {
  const licenseKey = await cloud.grant(product, '--slots', '3', '--borrow-hours', '24');
  await at.ask('/api/v4/addProduct', { product, licenseKey });
  return licenseKey;
}

const refused = (reason: string) => ({ accepted: false, reason });

describe('a server that was activated online', () => {
  test('sends a certificate of the vendor with its grants', async () => {
    await grantAndAdd('cad');
    const lent = await site.lend('cad');
    const verdict = verifyGrant(lent);
    assert.ok(verdict.accepted, JSON.stringify(verdict));
    assert.equal(verdict.by, 'vendor');
    const { hardware_id, keys, licenses } = await site.identity();
    assert.deepEqual([verdict.claims.hardware_id, verdict.claims.product], [hardware_id, 'cad']);
    assert.equal(licenses[0]?.kid, keys[0]?.kid);
    const known = [{ kty: 'OKP', crv: 'Ed25519', x: keys[0]?.x }] as OkpJwk[];
    const alone = verifyGrant({ ...lent, certificate: null, known });
    assert.equal(alone.accepted && alone.by, 'server', 'without it, only that it is the same server');
    assert.deepEqual(verifyGrant({ ...lent, certificate: null }), refused('unknown_server'));
    const events = (await cloud.run('event', 'list')) as { events: { kind: string }[] };
    const kinds = events.events.map(({ kind }) => kind);
    assert.ok(kinds.includes('certificate_issued') && kinds.includes('server_key_learned'), String(kinds));
  });

  const KINDS = {
    slots: '--slots 3 --timeout 7',
    borrows: '--slots 3 --borrow-hours 36',
    'a license that ends, with grace': '--slots 2 --valid-until 2099-01-31T12:00:00Z --grace-hours 24',
    'a subscription': '--slots 2 --type subscription --valid-until 2099-01-31',
    counts: '--slots 4 --consumptions 1000 --overages 5 --period monthly --negative',
    'unlimited counts': '--slots 4 --unlimited-consumptions',
    features:
      '--slots 4 --borrow-hours 5 --feature dark --feature render,slots=2,timeout=10,borrow-hours=3 ' +
      '--feature export,consumptions=100,overages=10 --feature import,consumptions=unlimited ' +
      '--feature trial,expires=2098-01-31',
  };

  for (const [kind, flags] of Object.entries(KINDS)) {
    test(`is certified for exactly what its grants say: ${kind}`, async () => {
      const product = `kind-${Object.keys(KINDS).indexOf(kind)}`;
      const licenseKey = await cloud.grant(product, ...flags.split(' '));
      await site.ask('/api/v4/addProduct', { product, licenseKey });
      const lent = await site.lend(product);
      const verdict = verifyGrant(lent);
      assert.ok(verdict.accepted && verdict.by === 'vendor', JSON.stringify(verdict));
      const [certified] = readCertificate(lent.certificate ?? '', vendorKey)?.licenses ?? [];
      assert.ok(certified !== undefined);
      const { ends_at: endsAt, ...terms } = certified;
      const { license_id, limits, features } = verdict.claims;
      assert.deepEqual(terms, { license_id, product, limits, features });
      const end = limits.validity_period === null ? null : Date.parse(limits.validity_period);
      const graceMs = flags.includes('--grace-hours') ? DAY_MS : 0;
      assert.equal(endsAt === null ? null : Date.parse(endsAt), end === null ? null : end + graceMs);
    });
  }

  test('cannot be replaced by a fake one', async () => {
    const lent = await site.lend('cad');
    const verdict = verifyGrant(lent);
    assert.ok(verdict.accepted && lent.certificate !== null);
    const { certificate } = lent;
    for (let at = 0; at < certificate.length; at += 7) {
      const other = String.fromCharCode(certificate.charCodeAt(at) ^ (1 << (at % 7)));
      const altered = certificate.slice(0, at) + other + certificate.slice(at + 1);
      assert.deepEqual(
        verifyGrant({ ...lent, certificate: altered }),
        refused('certificate_invalid'),
        `${at}`,
      );
    }
    const own = generateKeyPairSync('ed25519');
    const forged = writeJws({ alg: 'EdDSA', typ: GRANT_TYPE }, verdict.claims, own.privateKey);
    assert.deepEqual(verifyGrant({ ...lent, grant: forged }), refused('grant_invalid'), 'with its own key');
    const stranger = rsaKeysOf('stranger');
    const isOther = verifyGrant({ ...lent, vendorKey: stranger.publicKey });
    assert.deepEqual(isOther, refused('certificate_invalid'), 'of another vendor');
    assert.deepEqual(verifyGrant({ ...lent, nonce: `${NONCE}0` }), refused('other_nonce'));
    const later = { ...lent, now: Date.parse(verdict.claims.valid_until) };
    assert.deepEqual(verifyGrant(later), refused('grant_expired'));
    const muchLater = { ...lent, now: Date.now() + 90 * DAY_MS };
    assert.deepEqual(verifyGrant(muchLater), refused('certificate_expired'));
    assert.ok(verifyGrant(lent).accepted);
  });

  test('vouches for nothing that another server grants', async () => {
    const other = await openSite();
    await other.setKeys();
    await grantAndAdd('cam', other);
    const [ours, theirs] = [await site.lend('cad'), await other.lend('cam')];
    assert.ok(verifyGrant(theirs).accepted);
    const mixed = verifyGrant({ ...theirs, certificate: ours.certificate });
    assert.deepEqual(mixed, refused('grant_invalid'));
  });

  test('goes on with a certified key until its new key is certified, too', async () => {
    const old = await site.lend('cad');
    const certified = (await site.identity()).licenses[0]?.kid;
    await cloud.stop();
    const rotated: Identity = await site.ask('/api/admin/identity/rotate', {});
    assert.equal(rotated.keys.length, 2);
    const between = await site.lend('cad');
    assert.ok(verifyGrant(between).accepted);
    assert.equal((await site.identity()).licenses[0]?.kid, certified);
    await cloud.restart();
    await site.ask('/api/admin/licenses/sync', {});
    const { keys, licenses } = await site.identity();
    assert.deepEqual([licenses[0]?.kid, keys[1]?.kid], [keys[0]?.kid, certified]);
    const fresh = await site.lend('cad');
    assert.notEqual(fresh.certificate, old.certificate);
    for (const lent of [old, between, fresh]) assert.ok(verifyGrant(lent).accepted);
    await site.ask('/api/admin/licenses/sync', {});
    assert.equal((await site.lend('cad')).certificate, fresh.certificate, 'not a new one with every check');
  });

  test('asks for a new certificate as soon as its key was replaced', async () => {
    await site.ask('/api/admin/identity/rotate', {});
    await pollUntil('the certificate', async () => {
      const { keys, licenses } = await site.identity();
      return licenses[0]?.kid === keys[0]?.kid ? true : undefined;
    });
    assert.ok(verifyGrant(await site.lend('cad')).accepted);
  });

  test('gets none while its machine is known by another key, until the vendor approves', async () => {
    const { hardware_id } = await site.identity();
    const copy = await openSite(['--hardware-id', hardware_id]);
    await copy.setKeys();
    await grantAndAdd('cae', copy);
    const { certificate, ...lent } = await copy.lend('cae');
    assert.equal(certificate, null);
    assert.deepEqual(verifyGrant({ ...lent, certificate }), refused('unknown_server'));
    const { waiting } = (await cloud.run('device', 'list')) as { waiting: Facts[] };
    const { identity_key } = await copy.identity();
    assert.deepEqual(
      waiting.map((one) => [one.hardware_id, one.fingerprint, one.asks]),
      [[hardware_id, identity_key, 'certificate']],
    );
    await cloud.run('device', 'approve', hardware_id, identity_key);
    await copy.ask('/api/admin/licenses/sync', {});
    assert.ok(verifyGrant(await copy.lend('cae')).accepted);
  });
});

describe('a server without internet', () => {
  test('gets its certificate in the license file once the vendor has approved its key', async () => {
    const away = await openSite();
    const folder = temporaryFolder(life);
    const [request, file] = [join(folder, 'a.req'), join(folder, 'a.lic')];
    const licenseKey = await cloud.grant('far', '--slots', '3');
    const made: Facts = await away.ask('/api/v4/license/generate', {
      product: 'far',
      license_key: licenseKey,
    });
    writeFileSync(request, String(made.request_data));
    await cloud.run('offline', 'activate', request, '--out', file);
    const upload = async () => {
      const answer = await fetch(`${away.url}/api/v4/license/upload`, {
        method: 'POST',
        body: readFileSync(file, 'utf8'),
      });
      assert.equal(answer.status, 200, await answer.text());
    };
    await upload();
    assert.equal((await away.lend('far')).certificate, null, 'a license key proves nothing');
    const { hardware_id, identity_key, keys } = await away.identity();
    const approved: Facts = await cloud.run('device', 'approve', hardware_id, identity_key);
    assert.deepEqual(approved.grant_keys, [keys[0]?.x]);
    await cloud.run('offline', 'refresh', licenseKey, '--out', file);
    await upload();
    const first = await away.lend('far');
    const verdict = verifyGrant(first);
    assert.ok(verdict.accepted && verdict.by === 'vendor', JSON.stringify(verdict));
    assert.ok(verifyGrant({ ...first, grant: first.grant, now: Date.now() + 1000 }).accepted);
    await cloud.run('offline', 'refresh', licenseKey, '--out', file);
    await upload();
    const second = await away.lend('far');
    assert.notEqual(second.certificate, first.certificate);
    assert.ok(verifyGrant(second).accepted);
  });

  test('gets it as a file if its license came by codes, and then with newer policies', async () => {
    const away = await openSite();
    const licenseKey = await cloud.grant('gap', '--slots', '3');
    const start: Facts = await cloud.run('airgap', 'start', licenseKey);
    const code = { license_key: licenseKey, signing_key: start.initialization_code };
    const made: Facts = await away.ask('/api/v4/airgap/generate', code);
    const { hardware_id, activation_code, grant_key } = made as Record<string, string>;
    assert.equal(grant_key, (await away.identity()).keys[0]?.x);
    const confirmed: Facts = await cloud.run(
      ...['airgap', 'confirm', licenseKey, '--activation-code', activation_code as string],
      ...['--hardware-id', hardware_id as string],
    );
    await away.ask('/api/v4/airgap/license', {
      license_policy: confirmed.policy_file,
      license_key: licenseKey,
      policy_id: confirmed.policy_id,
      confirmation_code: confirmed.confirmation_code,
    });
    assert.equal((await away.lend('gap')).certificate, null);
    const add = (certificate: unknown) => away.api.post('/api/admin/identity/certificates', { certificate });
    const issue = async (...flags: string[]) =>
      ((await cloud.run('certificate', 'issue', licenseKey, ...flags)) as { certificate: string })
        .certificate;
    await assert.rejects(issue(), /The grant key of machine .* is not known/);
    await assert.rejects(issue('--grant-key=mistyped'), /mistyped/);
    const other = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x as string;
    const wrong = await add(await issue(`--grant-key=${other}`));
    assert.deepEqual([wrong.status, wrong.body.code], [400, 'server_certificate_mismatch'], wrong.text);
    const certificate = await issue(`--grant-key=${grant_key}`);
    const altered = await add(`${certificate.slice(0, -4)}AAAA`);
    assert.deepEqual([altered.status, altered.body.code], [400, 'server_certificate_invalid']);
    const elsewhere = await site.api.post('/api/admin/identity/certificates', { certificate });
    assert.deepEqual([elsewhere.status, elsewhere.body.code], [400, 'server_certificate_mismatch']);
    assert.equal((await add(certificate)).status, 200);
    const verdict = verifyGrant(await away.lend('gap'));
    assert.ok(verdict.accepted && verdict.by === 'vendor', JSON.stringify(verdict));
    await cloud.run('license', 'change', licenseKey, '--slots', '9');
    const policy: Facts = await cloud.run('airgap', 'policy', licenseKey);
    await away.ask('/api/v4/airgap/license', {
      license_policy: policy.policy_file,
      license_key: licenseKey,
      policy_id: confirmed.policy_id,
      confirmation_code: confirmed.confirmation_code,
    });
    const raised = verifyGrant(await away.lend('gap'));
    assert.ok(raised.accepted && raised.claims.limits.floating_users === 9, JSON.stringify(raised));
    const { events }: { events: Facts[] } = await away.ask('/api/admin/audit?kind=certificate_added');
    assert.equal(events.length, 2);
  });
});

describe('a vendor that changes its key', () => {
  test('leaves no gap, for servers and applications that know both keys', async () => {
    await cloud.run('signing-key', 'add');
    const { public_key: pem }: Record<string, string> = await cloud.run('public-key');
    const both = join(temporaryFolder(life), 'both.pem');
    writeFileSync(both, pem as string);
    const keys = readPublicKeys(pem as string);
    assert.equal(keys.length, 2);
    const ready = await openSite(['--cloud-public-key', both]);
    await ready.setKeys();
    await grantAndAdd('key', ready);
    const next = async () => {
      await ready.ask('/api/admin/licenses/sync', {});
      const body: Facts = await ready.ask('/api/v4/register', { product: 'key', user: 'ada', nonce: NONCE });
      const { grant, certificate, other_certificates: otherCertificates = [] } = body as unknown as Proven;
      return keys.map((one) => {
        const given = { vendorKey: one, grant, certificate, otherCertificates, nonce: NONCE };
        return verifyGrant({ ...given, now: Date.now() }).accepted;
      });
    };
    assert.deepEqual(await next(), [true, true], 'applications may know either');
    await cloud.run('signing-key', 'switch');
    assert.deepEqual(await next(), [true, true]);
    await cloud.run('signing-key', 'retire');
    assert.deepEqual(await next(), [false, true]);
  });
});
