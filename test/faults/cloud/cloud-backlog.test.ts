import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Fault } from '../../support/chaos/chaos-fault.ts';
import { openChaosProxy } from '../../support/chaos/chaos-proxy.ts';
import { startBefore } from '../../support/start-before.ts';
import {
  countUntold,
  listMeters,
  type MachineApp,
  openMachine,
  openVendor,
  readHolding,
  syncUntilTold,
  useLicense,
  type Vendor,
} from './cloud-faults.ts';
import { hideReportIds } from './cloud-reports.ts';

const MINUTE_MS = 60_000;
const REPORT = '/api/v4/add_consumption';
const PASS: Fault = { kind: 'pass' };

let vendor: Vendor;
startBefore(async (life) => {
  vendor = await openVendor(life);
});

async function openAdded(t: TestContext, options: Parameters<typeof openMachine>[2] = {}) {
  const app = await openMachine(t, vendor, options);
  await app.add('cad', vendor.key);
  return app;
}

function count(app: MachineApp, consumptions: number, product = 'cad') {
  return app.post('/api/v4/add_consumption', { product, consumptions });
}

describe('a clock', () => {
  for (const minutes of [-20, 20]) {
    test(`${minutes} minutes off: the cloud refuses, nothing changes, and lending continues`, async (t) => {
      const app = await openAdded(t);
      const { total, exports } = await vendor.readBooks();
      const before = await readHolding(app);
      app.way.shiftMs = minutes * MINUTE_MS;
      await useLicense(app, { total: 3, exports: 4 });
      assert.equal((await app.sync()).licenses[0]?.error?.code, 'date_not_valid');
      const { cloud } = await app.status();
      assert.deepEqual([cloud.state, cloud.error?.code], ['refused', 'date_not_valid']);
      const again = { product: 'cad', licenseKey: vendor.key };
      assert.equal((await app.post('/api/v4/addProduct', again)).body.code, 'date_not_valid');
      assert.equal((await app.post('/api/v4/removeProduct', { product: 'cad' })).body.code, 'date_not_valid');
      await useLicense(app, { total: 3, exports: 4 });
      assert.deepEqual(await readHolding(app), before);
      assert.deepEqual(countUntold(await listMeters(app)), { total: 6, exports: 8 });
      app.way.shiftMs = 0;
      await syncUntilTold(app);
      const books = await vendor.readBooks();
      assert.deepEqual([books.total, books.exports], [total + 6, exports + 8]);
    });
  }

  for (const minutes of [-14, 14]) {
    test(`${minutes} minutes off is tolerated`, async (t) => {
      const app = await openAdded(t);
      const { total } = await vendor.readBooks();
      app.way.shiftMs = minutes * MINUTE_MS;
      await useLicense(app, { total: 3, exports: 4 });
      await syncUntilTold(app);
      assert.equal((await vendor.readBooks()).total, total + 3);
    });
  }
});

describe('while a report is delayed', () => {
  test('slots are lent, consumption is counted, and all of it is reported afterwards', async (t) => {
    const app = await openAdded(t);
    const { total, exports } = await vendor.readBooks();
    const { promise: untilReleased, resolve: release } = Promise.withResolvers<void>();
    app.proxy.setPlan({ kind: 'delay', untilReleased });
    const since = app.proxy.requests.length;
    await useLicense(app, { total: 1, exports: 1 });
    let isSynced = false;
    const syncing = app.sync().then(() => {
      isSynced = true;
    });
    await app.proxy.waitFor((requests) => requests.length > since);
    await useLicense(app, { total: 10, exports: 10 });
    const { cloud } = await app.status();
    assert.deepEqual([cloud.pending, cloud.reports_under_way, isSynced], [21, 1, false]);
    app.proxy.setPlan(PASS);
    release();
    await syncing;
    await syncUntilTold(app);
    const books = await vendor.readBooks();
    assert.deepEqual([books.total, books.exports], [total + 11, exports + 11]);
  });
});

describe('a problem with one license', () => {
  test('does not delay the reports of the others', async (t) => {
    const app = await openAdded(t);
    const key = await vendor.cloud.grant('draw', '--slots', '1', '--unlimited-consumptions');
    await app.add('draw', key);
    const { total } = await vendor.readBooks();
    for (const product of ['cad', 'draw']) {
      const faulty = product === 'cad' ? vendor.key : key;
      app.proxy.setPlan(({ body }) => (body.includes(faulty) ? { kind: 'status', code: 500 } : PASS));
      for (const one of ['cad', 'draw']) await count(app, 5, one);
      await assert.rejects(app.cloudLink.reportAll(), { reason: 'server_error' });
      const untold = (await app.cloudLink.listBacklog()).filter(({ underWay }) => underWay !== null);
      assert.deepEqual(
        untold.map((meter) => meter.product),
        [product],
      );
      app.proxy.setPlan(PASS);
      await app.cloudLink.reportAll();
    }
    assert.equal((await vendor.readBooks()).total, total + 10);
    assert.equal((await vendor.cloud.showLicense(key)).total_consumptions, 10);
  });

  test('does not delay the checks of the others', async (t) => {
    const app = await openAdded(t);
    await app.add('draw', await vendor.cloud.grant('draw', '--slots', '1'));
    for (const n of [0, 1]) {
      app.clock.advance(MINUTE_MS);
      const since = app.proxy.requests.length;
      app.proxy.setPlan((request) => (request.n === since + n ? { kind: 'no_signature' } : PASS));
      await assert.rejects(app.cloudLink.checkAll(), { reason: 'not_signed' });
      assert.equal(app.proxy.requests.length, since + 2);
      const { licenses } = await readHolding(app);
      const checked = licenses.map(({ tie }) => tie.checkedAt ?? 0);
      assert.equal(new Set(checked).size, 2, 'the other one was checked');
      app.proxy.setPlan(PASS);
      await app.cloudLink.checkAll();
    }
  });

  test('is not checked while the cloud cannot be reached at all', async (t) => {
    const app = await openAdded(t);
    await app.add('draw', await vendor.cloud.grant('draw', '--slots', '1'));
    const closed = await openChaosProxy({ target: vendor.cloud.url });
    await closed.close();
    app.way.url = closed.url;
    await assert.rejects(app.cloudLink.checkAll(), { reason: 'unreachable' });
    assert.equal(app.cloudLink.isFailing(), true);
  });

  test('does not delay its features', async (t) => {
    const app = await openAdded(t);
    const { exports } = await vendor.readBooks();
    app.proxy.setPlan(({ path }) => (path === REPORT ? { kind: 'status', code: 500 } : PASS));
    await useLicense(app, { total: 2, exports: 3 });
    await app.sync();
    assert.deepEqual(countUntold(await listMeters(app)), { total: 2, exports: 0 });
    assert.equal((await vendor.readBooks()).exports, exports + 3);
  });
});

describe('a license is not removed', () => {
  const remove = (app: MachineApp) => app.post('/api/v4/removeProduct', { product: 'cad' });

  test('while it is unknown whether a report was counted', async (t) => {
    const app = await openAdded(t, { target: await hideReportIds(t, vendor.cloud.url), settleMs: MINUTE_MS });
    const { total } = await vendor.readBooks();
    await count(app, 4);
    app.proxy.setPlan(({ path }) => (path === REPORT ? { kind: 'cut_after' } : PASS));
    await app.sync();
    app.proxy.setPlan(PASS);
    const answer = await remove(app);
    assert.deepEqual([answer.status, answer.body.code], [503, 'cloud_unavailable']);
    assert.equal((await readHolding(app)).licenses.length, 1);
    app.clock.advance(MINUTE_MS);
    assert.equal((await remove(app)).status, 200);
    assert.equal((await vendor.readBooks()).total, total + 4);
    assert.equal(await vendor.isActivated(app.hardwareId), false);
  });

  test('because of an unsigned refusal of its report', async (t) => {
    const app = await openAdded(t);
    const { total } = await vendor.readBooks();
    await count(app, 4);
    const body = JSON.stringify({ status: 400, code: 'license_not_found', message: 'No.' });
    app.proxy.setPlan(({ path }) => (path === REPORT ? { kind: 'status', code: 400, body } : PASS));
    assert.equal((await remove(app)).body.code, 'cloud_unavailable');
    assert.equal((await readHolding(app)).licenses.length, 1);
    app.proxy.setPlan(PASS);
    assert.equal((await remove(app)).status, 200);
    assert.equal((await vendor.readBooks()).total, total + 4);
  });
});

describe('a license is removed', () => {
  test('even if the vendor refuses to count', async (t) => {
    const feature = 'scan,consumptions=unlimited';
    const key = await vendor.cloud.grant('scan', '--slots', '1', '--feature', feature);
    const app = await openMachine(t, vendor);
    await app.add('scan', key);
    await app.post('/api/v4/add_feature_consumption', { product: 'scan', feature: 'scan', consumptions: 2 });
    await vendor.cloud.run('license', 'change', key, '--without-feature', 'scan');
    assert.equal((await app.post('/api/v4/removeProduct', { product: 'scan' })).status, 200);
    assert.equal((await vendor.cloud.showLicense(key)).activations, 0);
  });
});
