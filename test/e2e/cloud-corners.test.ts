import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { type CloudApp, openCloudApp } from '../support/cloud/cloud-app.ts';
import { type RunningCloud, startCloudHere } from '../support/cloud/cloud-process.ts';
import { startBefore } from '../support/start-before.ts';

/** One for all tests: each has a license, and a server, of its own. */
let vendor: RunningCloud;
startBefore(async (life) => {
  vendor = await startCloudHere(life);
});

async function openWithLicense(t: TestContext, ...flags: readonly string[]) {
  const app = await openCloudApp(t, { vendor });
  const key = await vendor.grant('cad', '--slots', '3', ...flags);
  await app.add('cad', key);
  return { app, key };
}

async function count(app: CloudApp, consumptions: number, feature?: string): Promise<unknown> {
  const path = feature === undefined ? 'add_consumption' : 'add_feature_consumption';
  const { status, body } = await app.post(`/api/v4/${path}`, { product: 'cad', consumptions, feature });
  return status === 200 ? body.total_consumptions : body.code;
}

async function register(app: CloudApp, user: string): Promise<unknown> {
  const { status, body } = await app.post('/api/v4/register', { product: 'cad', user });
  return status === 200 ? 200 : body.code;
}

async function moveTo(app: CloudApp, hardwareId: string) {
  await app.identity.bind();
  await app.store.execute({ kind: 'bind_hardware', hardwareId });
  return app.asMachine(hardwareId);
}

describe('a report that the vendor refuses', () => {
  test('does not block what is counted afterwards', async (t) => {
    const { app, key } = await openWithLicense(t, '--consumptions', '1000', '--negative');
    await count(app, 7);
    await app.sync();
    await count(app, -3);
    await vendor.run('license', 'change', key, '--no-negative');
    const [refused] = (await app.sync()).licenses;
    assert.equal(refused?.error?.code, 'validation_error');
    assert.equal((await app.status()).cloud.pending, -3);
    await count(app, 50);
    assert.equal((await app.sync()).licenses[0]?.error, null);
    assert.equal((await vendor.showLicense(key)).total_consumptions, 54);
    assert.equal((await app.status()).cloud.pending, 0);
  });

  test('is not refused because of later changes by the vendor: it has happened', async (t) => {
    const { app, key } = await openWithLicense(t, '--feature', 'export,consumptions=100');
    await count(app, 5, 'export');
    await vendor.run('license', 'change', key, '--without-feature', 'export');
    assert.equal((await app.sync()).licenses[0]?.error, null);
    assert.equal((await app.status()).cloud.pending, 0);
  });

  test('is held when an earlier try may have been counted', async (t) => {
    const { app, key } = await openWithLicense(t, '--consumptions', '1000', '--negative');
    await count(app, 7);
    await app.sync();
    await count(app, -3);
    app.proxy.setPlan(({ path }) => ({ kind: path.endsWith('add_consumption') ? 'cut_before' : 'pass' }));
    await app.sync();
    await vendor.run('license', 'change', key, '--no-negative');
    app.proxy.setPlan({ kind: 'pass' });
    await app.sync();
    const { cloud } = await app.status();
    assert.deepEqual([cloud.pending, cloud.reports_under_way, cloud.reports_uncertain], [0, 0, 1]);
  });
});

describe('adding a license that is there', () => {
  test('does not restore a total from before a report', async (t) => {
    const { app, key } = await openWithLicense(t, '--consumptions', '1000');
    const gate = Promise.withResolvers<void>();
    app.proxy.setPlan(({ path }) =>
      path.endsWith('activate_license') ? { kind: 'late', untilReleased: gate.promise } : { kind: 'pass' },
    );
    const adding = app.add('cad', key);
    await app.proxy.waitFor((seen) => seen.at(-1)?.targetStatus === 200);
    await count(app, 7);
    await app.sync();
    gate.resolve();
    await adding;
    assert.equal(await count(app, 0), 7);
    assert.equal((await vendor.showLicense(key)).total_consumptions, 7);
  });

  test('keeps it, and its activation, when the vendor has removed its slots', async (t) => {
    const { app, key } = await openWithLicense(t);
    await vendor.run('license', 'change', key, '--slots', '0');
    assert.equal((await app.add('cad', key)).floating_users, 0);
    assert.equal((await vendor.showLicense(key)).activations, 1);
    assert.equal(await register(app, 'ada'), 'floating_not_available');
  });
});

describe('a license that came with its data from another machine', () => {
  test('is removed without acting for the other machine', async (t) => {
    const { app, key } = await openWithLicense(t, '--consumptions', '1000');
    await count(app, 7);
    const copy = await moveTo(app, 'copy');
    await copy.remove({ product: 'cad', licenseId: null, licenseKey: null }, false, 'test');
    const { activations, total_consumptions } = await vendor.showLicense(key);
    assert.deepEqual([activations, total_consumptions], [1, 0]);
  });

  test('is stopped when the vendor disables it', async (t) => {
    const { app, key } = await openWithLicense(t);
    const copy = await moveTo(app, 'copy');
    await vendor.run('license', 'disable', key);
    await copy.sync(null);
    assert.equal(await register(app, 'ada'), 'license_not_enabled');
  });

  test('of a user has to be added again: the password is not stored', async (t) => {
    const { app } = await openUserLicense(t, 'moving');
    const copy = await moveTo(app, 'copy');
    const [result] = await copy.sync(null);
    assert.equal(result?.error?.code, 'server_identity_changed');
    assert.match(result?.error?.message ?? '', /Add it again/);
  });
});

async function openUserLicense(t: TestContext, product: string) {
  const app = await openCloudApp(t, { vendor });
  await vendor.run('product', 'create', product, '--authorization', 'user');
  const create = ['license', 'create', '--product', product, '--slots', '2', '--user', 'ann'];
  const { license_key } = (await vendor.runWith('a long password', ...create)) as { license_key: string };
  const holder = { username: 'ann', password: 'a long password' };
  assert.equal((await app.post('/api/v4/addProduct', { product, ...holder })).status, 200);
  return { app, key: license_key };
}

test("a user's license is stopped when the vendor resets its machines", async (t) => {
  const { app, key } = await openUserLicense(t, 'cam');
  await vendor.run('license', 'reset', key);
  await app.sync();
  const { body } = await app.post('/api/v4/register', { product: 'cam', user: 'ada' });
  assert.equal(body.code, 'license_not_active');
});

test('a request for headers only changes nothing', async (t) => {
  const { app, key } = await openWithLicense(t);
  const answer = await app.send('HEAD', '/api/v4/removeProduct?product=cad');
  assert.equal(answer.status, 405);
  assert.equal((await vendor.showLicense(key)).activations, 1);
  assert.equal(await register(app, 'ada'), 200);
});

test('a field in two spellings, or two ways to name a license, is refused', async (t) => {
  const { app, key } = await openWithLicense(t);
  for (const path of [
    `/api/v4/addProduct?product=cad&licenseKey=${key}&license_key=OTHER`,
    `/api/v4/addProduct?product=cad&licenseKey=${key}&username=ann&password=x`,
    `/api/v4/removeProduct?product=cad&licenseId=1&license_id=2`,
  ]) {
    assert.equal((await app.get(path)).body.code, 'validation_error', path);
  }
  assert.equal(
    (await app.get('/api/v4/removeProduct?product=cad&licenseId=1')).body.code,
    'license_not_found',
  );
});
