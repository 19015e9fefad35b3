import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import type { TermsChange } from '@berth/cloud/core/change-terms';
import { parseFeatureSpec } from '@berth/cloud/core/feature-spec';
import { judgeLicense } from '@berth/cloud/http/portal/write-files';
import { listDevices } from '@berth/cloud/store/devices';
import { changeLicense, createLicense } from '@berth/cloud/store/licenses';
import { startAirgap } from '@berth/cloud/store/offline/airgap';
import { readLicenseFile } from '@berth/protocol/carried/license-file';
import { MAX_LICENSE_BYTES, MAX_LICENSE_FILE_BYTES } from '@berth/protocol/carried/license-size';
import { createCarriedServer } from '../support/cloud/carried-server.ts';
import { createCommandLine } from '../support/cloud/cloud-command-line.ts';
import { generate, HARDWARE_ID, openOfflineApp, upload } from '../support/cloud/offline-app.ts';
import { createTestPortal, given, refused } from '../support/cloud/test-portal.ts';
import { TEST_VENDOR as vendor } from '../support/cloud/test-vendor.ts';
import { describeStores } from '../support/stores/test-stores.ts';

const features = (count: number) =>
  Array.from({ length: count }, (_, index) => parseFeatureSpec(`feature-${index},consumptions=100`));

/** A vendor with one license, and a server that trusts that vendor and has no network to it. */
async function openBoth(t: TestContext, terms: TermsChange) {
  const portal = createTestPortal(t, terms);
  const { folder, publicKey } = portal.cloud;
  const airgapKey = createPublicKey(folder.airgapKey);
  const app = await openOfflineApp(t, { vendorKey: publicKey, airgapKey });
  return { portal, app };
}

describeStores('a license with 1,000 features', () => {
  test('travels by codes, and is refreshed', async (t) => {
    const { portal, app } = await openBoth(t, { features: features(1000) });
    const { key } = portal;
    const wish = { license_key: key, signing_key: portal.start() };
    const { body: codes } = await app.post('/api/v4/airgap/generate', wish);
    const activationCode = codes.activation_code as string;
    const answer = given(portal.confirm({ hardwareId: HARDWARE_ID, activationCode }));
    assert.ok(answer.policyFile.length > 500_000, 'far beyond the 64 KiB of other bodies');
    const { policyId: policy_id, confirmationCode: confirmation_code } = answer;
    const proof = { license_key: key, policy_id, confirmation_code };
    const installed = await app.post('/api/v4/airgap/license', {
      ...proof,
      license_policy: answer.policyFile,
    });
    assert.equal(installed.status, 200, installed.text);
    assert.equal((installed.body.product_features as unknown[]).length, 1000);
    const renewed = given(portal.policy());
    const again = await app.post('/api/v4/airgap/license', { ...proof, license_policy: renewed.file });
    assert.equal(again.status, 200, again.text);
  });

  test('travels by file, and all its features are counted and reported', async (t) => {
    const { portal, app } = await openBoth(t, { features: features(1000) });
    const { file } = given(portal.activate(await generate(app, { license_key: portal.key })));
    const installed = await upload(app, file);
    assert.equal(installed.status, 200, installed.text);
    const count = { product: 'cad', feature: 'feature-999', consumptions: 3 };
    assert.equal((await app.post('/api/v4/add_feature_consumption', count)).status, 200);
    const { body } = await app.post('/api/admin/usage', {});
    const { added } = given(portal.usage(body.usage_data as string));
    assert.deepEqual(
      added.map(({ feature, amount }) => [feature, amount]),
      [['feature-999', 3]],
    );
  });
});

describe('the largest license', () => {
  /** A policy whose JSON has exactly so many bytes. */
  function policyOf(bytes: number): string {
    const sizeOf = (file: string) => Buffer.from(file, 'base64').length;
    const rest = bytes - sizeOf(vendor.policy({ metadata: { pad: '' } }));
    const policy = vendor.policy({ metadata: { pad: '?'.repeat(rest) } });
    assert.equal(sizeOf(policy), bytes);
    return policy;
  }
  const KEY = 'AAAA-BBBB-CCCC-DDDD';
  const fieldsOf = (license_policy: string) => ({
    license_policy,
    license_key: KEY,
    policy_id: '4711',
    confirmation_code: vendor.confirm(HARDWARE_ID, KEY, '4711'),
  });

  test('has 1 MiB and fits into a request in every encoding', async (t) => {
    const app = await openOfflineApp(t);
    const policy = policyOf(MAX_LICENSE_BYTES);
    assert.equal(policy.length, MAX_LICENSE_FILE_BYTES);
    const text = JSON.stringify(fieldsOf(policy));
    // Some JSON writers escape every slash; this file is full of them.
    const escaped = text.replaceAll('/', '\\/');
    assert.ok(escaped.length > text.length * 1.2);
    for (const body of [text, escaped, `${text}\n`]) {
      assert.equal((await app.post('/api/v4/airgap/license', body)).status, 200);
    }
  });

  test('and fits into an upload as well', async (t) => {
    const app = await openOfflineApp(t);
    const form = new FormData();
    const file = vendor.answer(await generate(app), { metadata: { pad: '?'.repeat(1_040_000) } });
    form.set('license', new Blob([file]), 'cad.lic');
    const encoded = new Response(form);
    const answer = await app.send('POST', '/api/v4/license/upload', {
      body: new Uint8Array(await encoded.arrayBuffer()),
      headers: { 'content-type': encoded.headers.get('content-type') as string },
    });
    assert.equal(answer.status, 200, answer.text.slice(0, 300));
  });

  test('and a byte more is refused, with a message that names both sizes', async (t) => {
    const app = await openOfflineApp(t);
    const { status, body } = await app.post(
      '/api/v4/airgap/license',
      fieldsOf(policyOf(MAX_LICENSE_BYTES + 3)),
    );
    assert.deepEqual([status, body.code], [400, 'airgap_policy_invalid']);
    assert.match(String(body.message), /It has 1398108 characters; a file may have 1398104\.$/);
    const huge = await app.post('/api/v4/airgap/license', { license_policy: 'A'.repeat(2 ** 21) });
    assert.deepEqual([huge.status, huge.body.code], [413, 'payload_too_large']);
  });

  test('other requests keep the small bound', async (t) => {
    const app = await openOfflineApp(t);
    const body = { signing_key: 'A'.repeat(64 * 1024) };
    assert.equal((await app.post('/api/v4/airgap/generate', body)).body.code, 'payload_too_large');
  });

  test('with as many features as fit is read in linear time', async (t) => {
    const app = await openOfflineApp(t);
    const feature = (id: number) => ({ id: 10_000 + id, code: `f${id}`, feature_type: 'activation' });
    const product_features = Array.from({ length: 6000 }, (_, id) => feature(id));
    const { status, body } = await app.post(
      '/api/v4/airgap/license',
      fieldsOf(vendor.policy({ product_features })),
    );
    assert.deepEqual([status, (body.product_features as unknown[]).length], [200, 6000]);
  });
});

describe('a license that no server accepts is refused before it is activated', () => {
  /** Granted before the vendor's tools looked at the size: nothing was in the way. */
  const OVERSIZED = { features: features(2700) };

  test('neither codes nor files are created for a license that is too large', (t) => {
    const portal = createTestPortal(t, OVERSIZED);
    const { store, key, cloud } = portal;
    const server = createCarriedServer('vault');
    const activationCode = server.activationCode(key, portal.start());
    const before = portal.dump();
    for (const answer of [
      startAirgap(store, key, cloud.now, judgeLicense),
      portal.confirm({ hardwareId: 'vault', activationCode }),
      portal.activate(server.request({ licenseKey: key })),
    ]) {
      assert.equal(refused(answer), 'license_not_readable');
    }
    assert.equal(portal.dump(), before);
    assert.deepEqual(listDevices(store, null), []);
    // Smaller, the very same codes and activation are still good.
    const withoutFeatures = OVERSIZED.features.slice(10).map(({ code }) => code);
    changeLicense(store, { key, user: null, terms: { withoutFeatures } }, cloud.now, judgeLicense);
    given(portal.confirm({ hardwareId: 'vault', activationCode }));
  });

  test('nor for one without slots', (t) => {
    const portal = createTestPortal(t, { slots: 0 });
    const server = createCarriedServer('vault');
    const before = portal.dump();
    const started = startAirgap(portal.store, portal.key, portal.cloud.now, judgeLicense);
    assert.equal(refused(started), 'license_not_floating');
    assert.equal(
      refused(portal.activate(server.request({ licenseKey: portal.key }))),
      'license_not_floating',
    );
    assert.equal(portal.dump(), before);
  });

  test('a grant that no server could read is refused, and the message says why', (t) => {
    const { store, key, cloud, dump } = createTestPortal(t);
    const before = dump();
    const deep = JSON.parse(`${'{"a":'.repeat(32)}1${'}'.repeat(32)}`);
    for (const [terms, sentence] of [
      [OVERSIZED, /It takes \d+ bytes, and servers read at most 1048576\. .+ has 2700 features/],
      [{ metadata: { pad: 'x'.repeat(1_050_000) } }, /It takes \d+ bytes/],
      [{ metadata: deep }, /nested deeper than 32 levels/],
    ] as const) {
      const draft = { product: 'cad', key: null, user: null, terms };
      for (const answer of [
        createLicense(store, draft, cloud.now, judgeLicense),
        changeLicense(store, { key, user: null, terms }, cloud.now, judgeLicense),
      ]) {
        assert.equal(refused(answer), 'license_not_readable');
        assert.match((answer as { message: string }).message, sentence);
      }
    }
    assert.equal(dump(), before);
  });

  test('a license just below the limit can be read by servers whatever is counted', (t) => {
    const portal = createTestPortal(t);
    const { store, key, cloud } = portal;
    const grant = (count: number) =>
      changeLicense(
        store,
        { key, user: null, terms: { features: features(count) } },
        cloud.now,
        judgeLicense,
      );
    let most = 2700;
    while ('code' in grant(most)) most -= 25;
    const server = createCarriedServer('x'.repeat(256));
    const { file } = given(portal.activate(server.request({ licenseKey: key })));
    assert.ok(file.length > MAX_LICENSE_FILE_BYTES * 0.9);
    assert.equal((readLicenseFile(file).fields.product_features as unknown[]).length, most);
  });

  test('on the command line', async (t) => {
    const run = createCommandLine(t);
    await run('key create test');
    await run('product create cad');
    const many = Array.from({ length: 2700 }, (_, index) => `--feature f${index},consumptions=1`).join(' ');
    const { code, err } = await run(`license create --product cad --key K-LARGE --slots 5 ${many}`);
    assert.equal(code, 1);
    assert.match(err, /^Servers cannot read this license\. It takes \d+ bytes/);
    assert.match((await run('license show K-LARGE')).err, /No license has the key/);
    await run('license create --product cad --key K-SMALL');
    const started = await run('airgap start K-SMALL');
    assert.match(started.err, /^The license has no slots, .+ --slots N --data \S+"\.$/);
  });
});
