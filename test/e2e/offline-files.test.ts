import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { writeLicenseFile } from '@berth/protocol/carried/license-file';
import {
  isSignedByServer,
  isSignedWithKeys,
  readOfflineRequest,
} from '@berth/protocol/carried/offline-request';
import { readUsageFile } from '@berth/protocol/carried/usage-file';
import {
  generate,
  HARDWARE_ID,
  openOfflineApp,
  openWithLicense,
  register,
  upload,
} from '../support/cloud/offline-app.ts';
import { TEST_VENDOR as vendor, vendorLicense } from '../support/cloud/test-vendor.ts';
import { rsaKeysOf } from '../support/rsa-keys.ts';
import { openTestApp, readEvents, readTraces, type TestApp } from '../support/test-app.ts';

describe('a request', () => {
  for (const body of [
    {},
    { product: 'cad' },
    { license_key: 'K-1' },
    { product: 'cad', license_key: 'K-1' },
  ]) {
    test(`with ${JSON.stringify(body)}, on an empty server, signed by the server itself`, async (t) => {
      const app = await openOfflineApp(t);
      const answer = await app.post('/api/v4/license/generate', body);
      assert.equal(answer.status, 200);
      const { status, request_id, request_data, file_name, hardware_id, signed_by } = answer.body;
      assert.deepEqual([status, hardware_id, signed_by], ['ok', HARDWARE_ID, 'server']);
      assert.match(file_name as string, /^[\w.-]+\.req$/);
      const read = readOfflineRequest(request_data as string);
      assert.ok(read !== null);
      assert.deepEqual(
        [read.fields.request_id, read.fields.hardware_id, read.fields.request, read.fields.schema_version],
        [request_id, HARDWARE_ID, 'activation', 2],
      );
      assert.equal(read.fields.product, 'product' in body ? 'cad' : undefined);
      assert.equal(read.fields.license_key, 'license_key' in body ? 'K-1' : undefined);
      assert.ok(isSignedByServer(read.fields.server_key as string, read.text, read.signature));
    });
  }

  test('with the cloud keys is signed as the cloud expects', async (t) => {
    const app = await openOfflineApp(t);
    await app.credentials.setKeys({ apiKey: 'api-1', sharedKey: 'shared-1' }, 'test');
    const wish = { license_key: 'K-1', username: 'ann' };
    const { body } = await app.post('/api/v4/license/generate', wish);
    assert.equal(body.signed_by, 'cloud-keys');
    const read = readOfflineRequest(body.request_data as string);
    assert.ok(read !== null && isSignedWithKeys(read, 'shared-1') && !isSignedWithKeys(read, 'other'));
    assert.deepEqual([read.fields.api_key, read.fields.username], ['api-1', 'ann']);
    assert.ok(!Buffer.from(body.request_data as string, 'base64').includes('shared-1'));
  });

  test('is returned as a file to clients that ask for text', async (t) => {
    const app = await openOfflineApp(t);
    const headers = { accept: 'text/plain' };
    const answer = await app.post('/api/v4/license/generate', {}, { headers });
    assert.ok(readOfflineRequest(answer.text) !== null);
    assert.match(answer.headers.get('content-disposition') ?? '', /^attachment; filename="[\w.-]+\.req"$/);
    assert.match(answer.headers.get('content-type') ?? '', /^text\/plain/);
  });

  test('is recorded, and each has its own id', async (t) => {
    const app = await openOfflineApp(t);
    const ids = await Promise.all(
      [1, 2, 3].map(async () => readOfflineRequest(await generate(app))?.fields.request_id),
    );
    assert.equal(new Set(ids).size, 3);
    const made = (await readEvents(app.store)).filter(({ kind }) => kind === 'offline_request_made');
    assert.equal(made.length, 3);
  });
});

describe('a license file', () => {
  test('adds the license; again it changes nothing', async (t) => {
    const { app, file } = await openWithLicense(t);
    assert.equal(await register(app, 'ada'), 200);
    const before = await readTraces(app.store);
    assert.equal((await upload(app, file)).status, 200);
    assert.deepEqual(await readTraces(app.store), before);
  });

  test('with a term of newer servers is refused, and the older one stays', async (t) => {
    const { app } = await openWithLicense(t);
    const newer = { date: '2031-01-01T00:00:00Z', requires: ['seats'] };
    const answer = vendor.answer(await generate(app), newer);
    const before = await readTraces(app.store);
    for (const file of [answer, vendor.refresh(HARDWARE_ID, newer)]) {
      const { body } = await upload(app, file);
      assert.equal(body.code, 'offline_file_invalid');
      assert.match(
        String(body.message),
        /"requires" has "seats", which needs a newer Berth\. Update the server/,
      );
    }
    assert.deepEqual(await readTraces(app.store), before);
  });

  test('comes in a form, whatever its field is called, or as it is', async (t) => {
    const app = await openOfflineApp(t);
    for (const [index, field] of ['license', 'file', 'whatever'].entries()) {
      const file = vendor.answer(await generate(app), { id: 100 + index });
      const form = new FormData();
      form.append('note', 'a field that is no file');
      form.append(field, new Blob([file]), 'license.lic');
      const request = new Request('http://localhost/', { method: 'POST', body: form });
      const headers = { 'content-type': request.headers.get('content-type') as string };
      const body = new Uint8Array(await request.arrayBuffer());
      const answer = await app.post('/api/v4/license/upload', body, { headers });
      assert.deepEqual([answer.status, answer.body.id], [200, 100 + index], answer.text);
    }
  });

  const REFUSED: Readonly<Record<string, (app: TestApp) => Promise<string>>> = {
    offline_hardware_mismatch: async (app) =>
      vendor.answer(await generate(app), { hardware_id: 'another-server' }),
    offline_request_unknown: async (app) =>
      vendor.answer(await generate(app), { request_id: '00000000-0000-4000-8000-000000000000' }),
    license_not_floating: async (app) => vendor.answer(await generate(app), { is_floating: false }),
    license_not_found: async () => vendor.refresh(HARDWARE_ID, { date: '2030-01-11T00:00:00Z' }),
    offline_signature_mismatch: async (app) => {
      const { privateKey } = rsaKeysOf('stranger');
      const { request_id } = readOfflineRequest(await generate(app))?.fields ?? {};
      const fields = { request_id, hardware_id: HARDWARE_ID, date: '2030-01-10T00:00:00Z' };
      return writeLicenseFile(vendorLicense(fields), privateKey, { withFirst: true });
    },
    offline_file_invalid: async () => 'not a file',
    payload_too_large: async () => 'A'.repeat(2 * 1024 * 1024 + 1),
  };

  for (const [code, make] of Object.entries(REFUSED)) {
    test(`is refused: ${code}, and nothing is stored`, async (t) => {
      const app = await openOfflineApp(t);
      const file = await make(app);
      const before = await readTraces(app.store);
      const { status, body } = await upload(app, file);
      assert.deepEqual([body.code, status], [code, code === 'payload_too_large' ? 413 : 400]);
      assert.deepEqual(await readTraces(app.store), before);
    });
  }

  test('without a date, or with the same key twice, or in another base64, is refused', async (t) => {
    const app = await openOfflineApp(t);
    const file = vendor.answer(await generate(app));
    const text = Buffer.from(file, 'base64').toString('utf8');
    for (const wrong of [
      vendor.answer(await generate(app), { date: undefined }),
      Buffer.from(text.replace('{', '{"id":4711,')).toString('base64'),
      `${file.slice(0, -4)}-_${file.slice(-2)}`,
      `${file.slice(0, 40)}\n${file.slice(40)}`,
      `${file}====`,
      text,
    ]) {
      assert.equal((await upload(app, wrong)).body.code, 'offline_file_invalid');
    }
    assert.equal((await upload(app, `${file}\n`)).status, 200, 'a line break at its end does no harm');
  });

  test('answers its request once, which waits until then', async (t) => {
    const { app, file } = await openWithLicense(t);
    const listOpen = async () => (await app.get('/api/admin/license-requests')).body.requests;
    assert.deepEqual(await listOpen(), []);
    const request_id = JSON.parse(Buffer.from(file, 'base64').toString()).request_id as string;
    const other = { id: 4800, request_id, hardware_id: HARDWARE_ID, date: '2030-01-12T00:00:00Z' };
    const second = vendor.answer(await generate(app), other);
    assert.equal((await upload(app, second)).body.code, 'offline_request_used');
    const [{ request_id: waiting, ...open }] = (await listOpen()) as [Record<string, unknown>];
    assert.equal(typeof waiting, 'string');
    assert.deepEqual(open, {
      request: 'activation',
      product: null,
      key_end: null,
      file_name: `berth-activation-${String(waiting).slice(0, 8)}.req`,
      made_at: '2030-01-15T12:00:00.000Z',
    });
  });

  test('is not read without a key to check it with, which the running server takes', async (t) => {
    const app = await openTestApp(t, { licenses: [] });
    await app.identity.bind();
    const file = vendor.answer(await generate(app));
    const { body } = await upload(app, file);
    assert.equal(body.code, 'offline_key_not_configured');
    const set = (...keys: readonly string[]) =>
      app.post('/api/admin/settings', { changes: { 'cloud.publicKey': keys } });
    const privatePart = rsaKeysOf('vendor').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    for (const wrong of ['/etc/vendor.pem', 'nonsense', privatePart]) {
      const refused = await set(wrong);
      assert.match(refused.body.message as string, /^This is not the public key of a vendor/);
      assert.equal(refused.body.field, 'cloud.publicKey');
    }
    const answer = await set(vendor.publicKey.export({ type: 'spki', format: 'pem' }).toString());
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await upload(app, file)).status, 200);
  });
});

describe('a refresh', () => {
  test('changes the limits by the rules; an older file is refused', async (t) => {
    const { app, file } = await openWithLicense(t);
    for (const user of ['ada', 'bob']) await register(app, user);
    const newer = vendor.refresh(HARDWARE_ID, { date: '2030-01-11T00:00:00Z', floating_users: 1 });
    assert.equal((await upload(app, newer)).body.floating_users, 1);
    assert.deepEqual(
      [await register(app, 'ada'), await register(app, 'cleo')],
      [200, 'floating_not_available'],
    );
    for (const old of [file, vendor.refresh(HARDWARE_ID, { date: '2030-01-10T12:00:00Z' })]) {
      assert.equal((await upload(app, old)).body.code, 'offline_file_outdated');
    }
    assert.equal((await upload(app, newer)).status, 200, 'the newest again is welcome');
    const changed = (await readEvents(app.store)).filter(({ kind }) => kind === 'license_changed');
    assert.equal(changed.length, 1);
  });

  test('sets a floor under the clock: a reset does not go below it', async (t) => {
    const { app } = await openWithLicense(t);
    const before = (await app.store.keepClock()).now;
    app.clock.setWall(Date.UTC(2020, 0, 1) as never);
    await app.post('/api/admin/clock/reset', {});
    const { now } = await app.store.keepClock();
    assert.equal(now, Date.UTC(2030, 0, 10));
    assert.ok(now < before);
  });
});

describe('a license is given back', () => {
  test('with its consumption; it lends no more, and old files stay invalid', async (t) => {
    const { app, file } = await openWithLicense(t);
    await app.post('/api/v4/add_consumption', { product: 'cad', consumptions: 8 });
    await app.post('/api/v4/add_feature_consumption', { product: 'cad', feature: 'export', consumptions: 2 });
    const request = readOfflineRequest(await generate(app, { request: 'deactivation', product: 'cad' }));
    assert.equal(request?.fields.request, 'deactivation');
    const usage = request?.fields.usage as { licenses: readonly object[] };
    assert.deepEqual(usage.licenses, [
      {
        license_id: 4711,
        license_key: 'AAAA-BBBB-CCCC-DDDD',
        consumed: 8,
        features: [{ code: 'export', consumed: 2 }],
      },
    ]);
    assert.equal(await register(app, 'ada'), 'unknown_product');
    assert.equal((await upload(app, file)).body.code, 'offline_request_used');
    const refresh = vendor.refresh(HARDWARE_ID, { date: '2030-02-01T00:00:00Z' });
    assert.equal((await upload(app, refresh)).body.code, 'license_not_found');
    const again = { request: 'deactivation', license_key: 'AAAA-BBBB-CCCC-DDDD' };
    assert.ok((await generate(app, again)) !== '', 'the file can be made again');
    const fresh = vendor.answer(await generate(app), { date: '2030-03-01T00:00:00Z' });
    const { body } = await upload(app, fresh);
    assert.equal(body.total_consumptions, 8, 'the total goes on');
    assert.equal(await register(app, 'ada'), 200);
  });

  test('only one that came in a file, and the caller has to choose', async (t) => {
    const { app } = await openWithLicense(t);
    await upload(app, vendor.answer(await generate(app), { id: 5000, license_key: 'K-2' }));
    const ask = (body: object) => app.post('/api/v4/license/generate', { request: 'deactivation', ...body });
    assert.equal((await ask({})).body.code, 'missing_parameters');
    assert.equal((await ask({ product: 'nope' })).body.code, 'license_not_found');
    assert.equal((await ask({ license_id: 5000 })).status, 200);
  });
});

describe('what was given back', () => {
  test('is not restored by a spare answer from before', async (t) => {
    const app = await openOfflineApp(t);
    const [first, spare] = [await generate(app), await generate(app, { product: 'cad' })];
    await upload(app, vendor.answer(first));
    await generate(app, { request: 'deactivation', product: 'cad' });
    const later = vendor.answer(spare, { date: '2030-04-01T00:00:00Z' });
    assert.equal((await upload(app, later)).body.code, 'offline_request_used');
    const fresh = vendor.answer(await generate(app), { date: '2030-04-02T00:00:00Z' });
    assert.equal((await upload(app, fresh)).status, 200);
  });

  test('by codes is not restored with the same code, whatever the policy says', async (t) => {
    const app = await openOfflineApp(t);
    const license_key = 'AAAA-BBBB-CCCC-DDDD';
    const code = vendor.confirm(HARDWARE_ID, license_key, '4711');
    const install = (confirmation_code: string, license_policy: string) =>
      app.post('/api/v4/airgap/license', {
        license_key,
        policy_id: '4711',
        confirmation_code,
        license_policy,
      });
    assert.equal((await install(code, vendor.policy())).status, 200);
    await generate(app, { request: 'deactivation', product: 'cad' });
    const newer = vendor.policy({ date: '2030-04-01T00:00:00Z' });
    for (const policy of [vendor.policy(), newer]) {
      assert.equal((await install(code, policy)).body.code, 'airgap_confirmation_invalid');
    }
    const other = vendor.confirm(HARDWARE_ID, license_key, '4711');
    assert.equal((await install(other, vendor.policy())).body.code, 'offline_file_outdated');
    assert.equal((await install(other, newer)).status, 200);
  });
});

describe('what a file tells was consumed', () => {
  test('counts on a server that has counted nothing, and changes nothing on one that has', async (t) => {
    const { app } = await openWithLicense(t);
    const used = { id: 5000, license_key: 'K-2', total_consumptions: 60 };
    const product = { product_details: { product_id: 8, product_name: 'CAM', short_code: 'cam' } };
    await upload(app, vendor.answer(await generate(app), { ...used, ...product, product_features: [] }));
    const count = (consumptions: number) =>
      app.post('/api/v4/add_consumption', { product: 'cam', consumptions });
    assert.equal((await count(41)).body.code, 'license_not_enough_consumptions');
    assert.equal((await count(1)).body.total_consumptions, 61);
    const refresh = { ...used, ...product, product_features: [], date: '2030-05-01T00:00:00Z' };
    await upload(app, vendor.refresh(HARDWARE_ID, refresh));
    assert.equal((await count(0)).body.total_consumptions, 61);
  });
});

test('a license that is removed while its file is installed is no bug', async (t) => {
  const { app, file } = await openWithLicense(t);
  const uploads = Array.from({ length: 40 }, () => upload(app, file));
  const removal = app.get('/api/v4/removeProduct?product=cad');
  const statuses = (await Promise.all([...uploads, removal])).map(({ status }) => status);
  assert.ok(
    statuses.every((status) => status === 200 || status === 400),
    statuses.join(' '),
  );
});

describe('a usage file', () => {
  test('contains everything ever consumed, signed, under an increasing number', async (t) => {
    const { app } = await openWithLicense(t);
    const make = async () => {
      const { body } = await app.post('/api/admin/usage', {});
      const read = readUsageFile(body.usage_data as string);
      assert.ok(read?.isSigned);
      return read.usage;
    };
    assert.deepEqual((await make()).licenses[0]?.consumed, 0);
    await app.post('/api/v4/add_consumption', { product: 'cad', consumptions: 8 });
    const second = await make();
    assert.deepEqual([second.sequence, second.licenses[0]?.consumed], [2, 8]);
    const files = await Promise.all([1, 2, 3, 4].map(make));
    assert.deepEqual(files.map(({ sequence }) => sequence).sort(), [3, 4, 5, 6]);
  });
});
