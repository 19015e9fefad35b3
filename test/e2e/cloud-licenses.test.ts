import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { describe, type TestContext, test } from 'node:test';
import { findOwnAddress } from '../../packages/server/src/cloud/own-address.ts';
import { type CloudApp, openCloudApp } from '../support/cloud/cloud-app.ts';
import { type RunningCloud, startCloudHere } from '../support/cloud/cloud-process.ts';
import { startBefore } from '../support/start-before.ts';
import { readEvents, readTraces } from '../support/test-app.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** One for all tests: each has a license, and a server, of its own. */
let vendor: RunningCloud;
startBefore(async (life) => {
  vendor = await startCloudHere(life);
});

function openApp(t: TestContext, hardwareId = 'test-machine') {
  return openCloudApp(t, { vendor, hardwareId });
}

/** A server that holds one license of "cad", by its key. */
async function openWithLicense(t: TestContext, ...flags: readonly string[]) {
  const app = await openApp(t);
  const key = await app.vendor.grant('cad', '--slots', '3', '--timeout', '10', ...flags);
  await app.add('cad', key);
  return { app, key };
}

function register(app: CloudApp, user: string) {
  return app.post('/api/v4/register', { product: 'cad', user });
}

async function codeOf(answer: ReturnType<typeof register>): Promise<unknown> {
  const { status, body } = await answer;
  return status === 200 ? 200 : body.code;
}

async function listChanges(app: CloudApp) {
  const events = await readEvents(app.store);
  return events.flatMap((event) => (event.kind === 'license_changed' ? [event] : []));
}

describe('a license is added', () => {
  test('by its key: it lends, and the vendor sees the activation', async (t) => {
    const { app, key } = await openWithLicense(t);
    assert.equal(await codeOf(register(app, 'ada')), 200);
    const seen = await app.vendor.showLicense(key);
    assert.deepEqual([seen.activations, seen.devices.length], [1, 1]);
    assert.equal(seen.devices[0]?.ip, findOwnAddress('127.0.0.1', networkInterfaces()));
  });

  test('again: one activation, one license, fresh facts', async (t) => {
    const { app, key } = await openWithLicense(t);
    await register(app, 'ada');
    await app.vendor.run('license', 'change', key, '--slots', '7');
    const { floating_users, floating_in_use } = await app.add('cad', key);
    assert.deepEqual([floating_users, floating_in_use], [7, 1]);
    assert.equal((await app.vendor.showLicense(key)).activations, 1);
  });

  test('by its user and a password, which is kept nowhere', async (t) => {
    const app = await openApp(t);
    const product = 'cam';
    await app.vendor.run('product', 'create', product, '--authorization', 'user');
    const flags = ['license', 'create', '--product', product, '--slots', '2', '--user', 'ann@example.com'];
    await app.vendor.runWith('correct horse battery', ...flags);
    const wrong = { product, username: 'ann@example.com', password: 'guess' };
    assert.equal((await app.post('/api/v4/addProduct', wrong)).body.code, 'invalid_credentials');
    const right = { ...wrong, password: 'correct horse battery' };
    assert.equal((await app.post('/api/v4/addProduct', right)).status, 200);
    assert.deepEqual((await app.sync()).licenses[0]?.error, null, 'checked without the password');
    assert.equal((await app.post('/api/v4/register', { product, user: 'ada' })).status, 200);
  });

  const REFUSED: Readonly<Record<string, (app: CloudApp) => Promise<Readonly<Record<string, string>>>>> = {
    unknown_product: async () => ({ product: 'nope', licenseKey: 'AAAA-BBBB-CCCC-DDDD' }),
    license_not_found: async (app) => {
      await app.vendor.grant('cad', '--slots', '1');
      return { product: 'cad', licenseKey: 'AAAA-BBBB-CCCC-DDDD' };
    },
    license_activated_max_times: async (app) => {
      const licenseKey = await app.vendor.grant('cad', '--slots', '1');
      const other = await openCloudApp(app.context, { vendor, hardwareId: 'other' });
      await other.add('cad', licenseKey);
      return { product: 'cad', licenseKey };
    },
    license_not_enabled: async (app) => {
      const licenseKey = await app.vendor.grant('cad', '--slots', '1');
      await app.vendor.run('license', 'disable', licenseKey);
      return { product: 'cad', licenseKey };
    },
    license_not_floating: async (app) => ({ product: 'cad', licenseKey: await app.vendor.grant('cad') }),
    missing_parameters: async () => ({ product: 'cad' }),
    cloud_unavailable: async (app) => {
      const licenseKey = await app.vendor.grant('cad', '--slots', '1');
      app.proxy.setPlan({ kind: 'refuse' });
      return { product: 'cad', licenseKey };
    },
    invalid_api_key: async (app) => {
      const licenseKey = await app.vendor.grant('cad', '--slots', '1');
      await app.credentials.setKeys({ apiKey: 'wrong', sharedKey: 'wrong' }, 'test');
      return { product: 'cad', licenseKey };
    },
  };

  for (const [code, prepare] of Object.entries(REFUSED)) {
    test(`not: ${code}, and nothing is half-added`, async (t) => {
      const app = await openApp(t);
      // That the cloud binds its answers is written down with the first one.
      await app.sync();
      const request = await prepare(app);
      const before = await readTraces(app.store);
      const { status, body } = await app.post('/api/v4/addProduct', request);
      assert.equal(body.code, code);
      assert.equal(status, code === 'cloud_unavailable' ? 503 : 400);
      assert.match(body.message as string, /^[A-Z].*\.$/s);
      assert.deepEqual(await readTraces(app.store), before);
    });
  }

  test('not if it is not floating: it is deactivated again', async (t) => {
    const app = await openApp(t);
    const key = await app.vendor.grant('cad');
    await app.post('/api/v4/addProduct', { product: 'cad', licenseKey: key });
    assert.equal((await app.vendor.showLicense(key)).activations, 0);
  });
});

describe('what changes at the cloud is effective after the next check', () => {
  test('disabled: nothing new and no renewal; enabled again: as before', async (t) => {
    const { app, key } = await openWithLicense(t);
    await register(app, 'ada');
    await app.vendor.run('license', 'disable', key);
    assert.equal(await codeOf(register(app, 'bob')), 200, 'before the check');
    await app.sync();
    assert.equal(await codeOf(register(app, 'cleo')), 'license_not_enabled');
    assert.equal(await codeOf(register(app, 'ada')), 'license_not_enabled');
    const [held] = await app.store.read({ kind: 'list_licenses', product: null });
    assert.equal(held?.inUse, 2, 'what is held ends at its own time');
    await app.vendor.run('license', 'enable', key);
    await app.sync();
    assert.equal(await codeOf(register(app, 'cleo')), 200);
    const changes = await listChanges(app);
    assert.deepEqual(
      changes.map(({ changed, verdict, by }) => [changed, verdict, by]),
      [
        [['enabled'], 'license_not_enabled', 'cloud'],
        [['enabled'], undefined, 'cloud'],
      ],
    );
  });

  test('extended, and cut short: held slots end with it', async (t) => {
    const { app, key } = await openWithLicense(t, '--valid-until', '2031-01-01', '--borrow-hours', '48');
    await app.post('/api/v4/borrow', { product: 'cad', user: 'ada' });
    await app.vendor.run('license', 'extend', key, '--until', '2035-01-01');
    await app.sync();
    const { body } = await app.get('/api/v4/license?product=cad');
    assert.equal(body.validity_period, '2035-01-01T23:59:59.999Z');
    await app.vendor.run('license', 'extend', key, '--until', '2030-01-16T00:00:00Z');
    await app.sync();
    const [ada] = (await readTraces(app.store)).registrations;
    assert.equal(ada?.registration.endsAt, Date.UTC(2030, 0, 16));
    app.clock.advance(DAY_MS);
    assert.equal(await codeOf(register(app, 'bob')), 'license_expired');
    assert.deepEqual(
      (await listChanges(app)).map(({ changed }) => changed),
      [['validUntil'], ['validUntil']],
    );
  });

  test('reduced: nobody loses a slot, holders renew, nothing new is lent', async (t) => {
    const { app, key } = await openWithLicense(t);
    for (const user of ['ada', 'bob', 'cleo']) await register(app, user);
    await app.vendor.run('license', 'change', key, '--slots', '1');
    await app.sync();
    assert.equal(await codeOf(register(app, 'ada')), 200);
    assert.equal(await codeOf(register(app, 'dan')), 'floating_not_available');
    for (const user of ['ada', 'bob', 'cleo']) await app.post('/api/v4/unregister', { user });
    assert.equal(await codeOf(register(app, 'dan')), 200);
    assert.equal(await codeOf(register(app, 'eve')), 'floating_not_available');
  });

  test('its features', async (t) => {
    const { app, key } = await openWithLicense(
      t,
      '--feature',
      'render,slots=1',
      '--feature',
      'export,slots=1',
    );
    await register(app, 'ada');
    const render = { product: 'cad', user: 'ada', feature: 'render' };
    assert.equal((await app.post('/api/v4/featureRegister', render)).status, 200);
    await app.vendor.run(
      'license',
      'change',
      key,
      '--without-feature',
      'export',
      '--feature',
      'scan,slots=2',
    );
    await app.sync();
    const scan = { ...render, feature: 'scan' };
    assert.equal((await app.post('/api/v4/featureRegister', scan)).status, 200);
    const gone = await app.post('/api/v4/featureRegister', { ...render, feature: 'export' });
    assert.equal(gone.body.code, 'invalid_license_feature_code');
    assert.deepEqual((await listChanges(app))[0]?.changed, ['features']);
  });

  test('reset there: the license is no longer active here', async (t) => {
    const { app, key } = await openWithLicense(t);
    await app.vendor.run('license', 'reset', key);
    await app.sync();
    assert.equal(await codeOf(register(app, 'ada')), 'license_not_active');
    await app.add('cad', key);
    assert.equal(await codeOf(register(app, 'ada')), 200);
  });

  test('counted elsewhere: the limit holds for all servers together', async (t) => {
    const { app, key } = await openWithLicense(t, '--consumptions', '10', '--activations', '2');
    const other = await openApp(t, 'other');
    await other.add('cad', key);
    const count = (one: CloudApp, consumptions: number) =>
      one.post('/api/v4/add_consumption', { product: 'cad', consumptions });
    await count(app, 6);
    await app.sync();
    await other.sync();
    assert.equal((await count(other, 5)).body.code, 'license_not_enough_consumptions');
    assert.equal((await count(other, 4)).body.total_consumptions, 10);
    await other.sync();
    await app.sync();
    assert.equal((await count(app, 0)).body.total_consumptions, 10);
  });

  test('nothing changed: nothing is recorded', async (t) => {
    const { app } = await openWithLicense(t);
    const before = (await readEvents(app.store)).length;
    for (let n = 0; n < 3; n++) await app.sync();
    assert.equal((await readEvents(app.store)).length, before);
  });
});

describe('wrong keys', () => {
  test('are stored, the status says that the cloud refuses them, and no license is touched', async (t) => {
    const { app } = await openWithLicense(t);
    await register(app, 'ada');
    const before = await app.store.read({ kind: 'list_licenses', product: null });
    const { body } = await app.get('/api/v4/setKeys?apiKey=wrong&sharedKey=wrong');
    assert.match(body.api_key_fingerprint as string, /^[0-9a-f]{8}$/);
    assert.equal((await app.status()).cloud.state, 'untried');
    await app.cloudLink.checkAll();
    const { cloud } = await app.status();
    assert.deepEqual([cloud.state, cloud.error?.code], ['refused', 'invalid_api_key']);
    assert.deepEqual(await app.store.read({ kind: 'list_licenses', product: null }), before);
    await app.credentials.setKeys({ apiKey: app.vendor.keys.apiKey, sharedKey: null }, 'test');
    await app.cloudLink.checkAll();
    assert.equal((await app.status()).cloud.error?.code, 'signature_mismatch');
    await app.credentials.setKeys(app.vendor.keys, 'test');
    await app.cloudLink.checkAll();
    assert.equal((await app.status()).cloud.state, 'ok');
  });

  test('are also detected without any license', async (t) => {
    const app = await openApp(t);
    await app.cloudLink.checkAll();
    assert.equal((await app.status()).cloud.state, 'ok');
    await app.credentials.setKeys({ apiKey: 'wrong', sharedKey: null }, 'test');
    await app.cloudLink.checkAll();
    assert.equal((await app.status()).cloud.state, 'refused');
  });
});

describe('a license is removed', () => {
  test('after consumption is reported; added again it continues', async (t) => {
    const { app, key } = await openWithLicense(t, '--consumptions', '100');
    await app.post('/api/v4/add_consumption', { product: 'cad', consumptions: 9 });
    const { status, body } = await app.get('/api/v4/removeProduct?product=cad');
    assert.deepEqual([status, body.product], [200, 'cad']);
    const seen = await app.vendor.showLicense(key);
    assert.deepEqual([seen.activations, seen.total_consumptions], [0, 9]);
    assert.equal(await codeOf(register(app, 'ada')), 'unknown_product');
    assert.equal((await app.add('cad', key)).total_consumptions, 9);
  });

  test('not while the cloud is away, unless it is only removed here', async (t) => {
    const { app } = await openWithLicense(t);
    app.proxy.setPlan({ kind: 'refuse' });
    const { status, body } = await app.post('/api/v4/removeProduct', { product: 'cad' });
    assert.deepEqual([status, body.code], [503, 'cloud_unavailable']);
    assert.equal(await codeOf(register(app, 'ada')), 200);
    const [record] = await app.store.read({ kind: 'list_licenses', product: null });
    const locally = { license_id: record?.license.id };
    assert.equal((await app.post('/api/admin/licenses/remove-locally', locally)).status, 200);
    assert.equal(await codeOf(register(app, 'ada')), 'unknown_product');
  });

  test('of several: the caller has to choose', async (t) => {
    const { app, key } = await openWithLicense(t);
    const second = await app.vendor.grant('cad', '--slots', '1');
    await app.add('cad', second);
    assert.equal((await app.get('/api/v4/removeProduct?product=cad')).body.code, 'missing_parameters');
    assert.equal((await app.get('/api/v4/removeProduct?product=nope')).body.code, 'unknown_product');
    assert.equal((await app.get('/api/v4/removeProduct')).body.code, 'missing_parameters');
    assert.equal((await app.get(`/api/v4/removeProduct?product=cad&licenseKey=${key}`)).status, 200);
    assert.equal((await app.get('/api/v4/removeProduct?product=cad')).status, 200);
  });
});

describe('data that was copied to another machine', () => {
  test('is noticed; the license is activated there at the next check, or the vendor refuses', async (t) => {
    const { app, key } = await openWithLicense(t, '--activations', '2');
    await app.identity.bind();
    await app.store.execute({ kind: 'bind_hardware', hardwareId: 'copy' });
    const [moved] = await app.store.read({ kind: 'list_licenses', product: null });
    assert.notEqual(moved?.license.tie.movedAt, null);
    assert.equal(await codeOf(register(app, 'ada')), 200, 'for seven days');
    const copy = app.asMachine('copy');
    await copy.sync(null);
    const [there] = await app.store.read({ kind: 'list_licenses', product: null });
    assert.deepEqual([there?.license.tie.hardwareId, there?.license.tie.movedAt], ['copy', null]);
    assert.equal((await app.vendor.showLicense(key)).activations, 2);
  });

  test('beyond what the vendor allows, it lends nothing new after seven days', async (t) => {
    const { app } = await openWithLicense(t);
    await app.identity.bind();
    await app.store.execute({ kind: 'bind_hardware', hardwareId: 'copy' });
    const [result] = await app.asMachine('copy').sync(null);
    assert.equal(result?.error?.code, 'license_activated_max_times');
    assert.equal(await codeOf(register(app, 'ada')), 200);
    app.clock.advance(7 * DAY_MS);
    assert.equal(await codeOf(register(app, 'bob')), 'server_identity_changed');
  });
});
