import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { type CloudApp, openCloudApp } from '../support/cloud/cloud-app.ts';
import { type RunningCloud, startCloudHere } from '../support/cloud/cloud-process.ts';
import { startBefore } from '../support/start-before.ts';

const TERMS = ['--slots', '5', '--consumptions', '1000', '--feature', 'export,consumptions=unlimited'];
const USER = { product: 'cad', user: 'ada' };

let vendor: RunningCloud;
startBefore(async (life) => {
  vendor = await startCloudHere(life);
});

async function openServer(t: TestContext) {
  const key = await vendor.grant('cad', ...TERMS);
  const app = await openCloudApp(t, { vendor, hardwareId: key, hidesNonces: true });
  await app.add('cad', key);
  return { app, key };
}

/** What is not bound to a request may have to be said twice before it counts. */
async function syncTwice(app: CloudApp) {
  await app.sync();
  return (await app.sync()).licenses[0]?.error ?? null;
}

async function readLicense(app: CloudApp) {
  return (await app.get('/api/v4/license?product=cad')).body as Readonly<Record<string, unknown>>;
}

describe('a newer server with an earlier cloud', () => {
  test('activates a license, lends it and returns it', async (t) => {
    const { app, key } = await openServer(t);
    assert.equal((await app.post('/api/v4/register', USER)).status, 200);
    assert.equal((await vendor.showLicense(key)).devices.length, 1);
    const removed = await app.post('/api/v4/removeProduct', { product: 'cad' });
    assert.equal(removed.status, 200, removed.text);
    assert.equal((await vendor.showLicense(key)).devices.length, 0);
  });

  test('reports consumption once', async (t) => {
    const { app, key } = await openServer(t);
    for (const amount of [7, 5]) {
      await app.post('/api/v4/add_consumption', { product: 'cad', consumptions: amount });
      const feature = { product: 'cad', feature: 'export', consumptions: 1 };
      await app.post('/api/v4/add_feature_consumption', feature);
      assert.equal(await syncTwice(app), null);
    }
    const { total_consumptions: total, features } = await vendor.showLicense(key);
    assert.deepEqual([total, features[0]?.total_consumptions], [12, 2]);
    assert.equal((await readLicense(app)).total_consumptions, 12);
  });

  test("follows the vendor's changes", async (t) => {
    const { app, key } = await openServer(t);
    await vendor.run('license', 'change', key, '--slots', '2', '--consumptions', '50');
    assert.equal(await syncTwice(app), null);
    const { floating_users: slots, max_consumptions: max } = await readLicense(app);
    assert.deepEqual([slots, max], [2, 50]);
    await vendor.run('license', 'disable', key);
    assert.equal((await syncTwice(app))?.code, 'license_not_enabled');
    assert.equal((await app.post('/api/v4/register', USER)).body.code, 'license_not_enabled');
    await vendor.run('license', 'enable', key);
    assert.equal(await syncTwice(app), null);
    assert.equal((await app.post('/api/v4/register', USER)).status, 200);
  });
});
