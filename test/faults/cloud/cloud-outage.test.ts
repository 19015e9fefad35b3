import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { askBerth, runBerth } from '../../support/berth-command.ts';
import type { Fault } from '../../support/chaos/chaos-fault.ts';
import type { SeenRequest } from '../../support/chaos/chaos-journal.ts';
import type { CloudFacts } from '../../support/cloud/cloud-app.ts';
import { type CloudProcess, startCloudProcess } from '../../support/cloud/cloud-process.ts';
import { pollUntil } from '../../support/poll.ts';
import { startBefore } from '../../support/start-before.ts';
import { Site } from './cloud-site.ts';

let cloud: CloudProcess;
startBefore(async (life) => {
  cloud = await startCloudProcess(life);
});

const REPORT = '/api/v4/add_consumption';
const PASS: Fault = { kind: 'pass' };

/** Breaks the reports of the license itself from now on. */
function breakReports(site: Site, fault: Fault): void {
  site.proxy.setPlan(({ path }) => (path === REPORT ? fault : PASS));
}

function findReport(requests: readonly SeenRequest[], fault: Fault['kind']): SeenRequest | undefined {
  return requests.find((request) => request.path === REPORT && request.fault === fault);
}

/** Resolves when a report is held by the proxy; `counted`: after the cloud has counted it. */
function waitForReport({ proxy }: Site, fault: Fault['kind'], counted: boolean): Promise<void> {
  return proxy.waitFor((requests) => {
    const report = findReport(requests, fault);
    return report !== undefined && (!counted || report.targetStatus === 200);
  });
}

async function openWithLicense(t: Parameters<typeof Site.open>[0], options = {}): Promise<Site> {
  const site = await Site.open(t, cloud, options);
  await site.setKeys();
  await site.addLicense();
  return site;
}

/** What `berth report list` shows as not told yet, of the license and of its feature. */
function readUntold(table: string): number[] {
  const rows = table.trim().split('\n').slice(1);
  return rows.map((row) => {
    const [, , , pending, underWay] = row.split(/ +/);
    return Number(pending) + Number(underWay);
  });
}

describe('a cloud that is away', () => {
  test('from the first start on, and with wrong keys: the server starts, says so, and lends', async (t) => {
    await cloud.kill();
    const site = await Site.open(t, cloud, { isDirect: true, isHere: true });
    assert.equal((await site.cloudFacts()).state, 'no_keys');
    await site.setKeys();
    const { error } = await site.waitForState('failing');
    assert.equal(error?.reason, 'unreachable');
    assert.deepEqual(await site.server.api.licenses(), [], 'there is no demo');
    const added = await site.server.api.post('/api/v4/addProduct', { product: 'cad', license_key: 'K' });
    assert.deepEqual([added.status, added.body.code], [503, 'cloud_unavailable']);
    await cloud.restart();
    await site.setKeys({ apiKey: 'wrong', sharedKey: 'wrong' });
    assert.equal((await site.waitForState('refused')).error?.code, 'invalid_api_key');
    await site.setKeys();
    await site.waitForState('ok');
    await site.addLicense();
    const before = await site.server.api.licenses();
    await site.setKeys({ ...cloud.keys, sharedKey: 'wrong' });
    assert.equal((await site.waitForState('refused')).error?.code, 'signature_mismatch');
    assert.deepEqual(await site.server.api.licenses(), before);
    await site.use({ total: 2, exports: 3 });
    await site.setKeys();
    await site.assertTold();
  });

  test('for a while, over a restart: everything is kept, shown, and reported later', async (t) => {
    const site = await openWithLicense(t, { isDirect: true });
    await site.use({ total: 1, exports: 2 });
    await site.assertTold();
    await cloud.kill();
    await site.use({ total: 10, exports: 20 });
    assert.equal(await site.server.stop(), 0);
    await site.server.start({ isHere: true });
    await site.use({ total: 100, exports: 200 });
    assert.equal((await site.waitForState('failing')).error?.reason, 'unreachable');
    const { data } = site.server;
    const status = await askBerth<{ cloud: CloudFacts }>(data, ['status']);
    assert.equal(status.cloud.state, 'failing');
    assert.ok(status.cloud.reports_under_way > 0);
    const listed = await runBerth(data, ['report', 'list']);
    assert.deepEqual(readUntold(listed.stdout), [110, 220], listed.stdout);
    const synced = await runBerth(data, ['license', 'sync']);
    assert.equal(synced.code, 1);
    assert.match(
      synced.stdout,
      /cloud_unavailable: The licensing cloud cannot be reached: connection refused/,
    );
    await cloud.restart();
    await site.assertTold();
    const events = await site.server.api.eventsAfter(0);
    assert.ok(!events.some(({ kind }) => kind === 'license_changed'));
    assert.deepEqual((await site.server.api.verifyAudit()).problems, []);
  });
});

describe('a cloud that hangs', () => {
  test('delays no register, no count and no stop', async (t) => {
    const site = await openWithLicense(t, { timeoutSeconds: 120 });
    breakReports(site, { kind: 'hang' });
    await site.use({ total: 3, exports: 4 });
    await waitForReport(site, 'hang', false);
    await site.use({ total: 30, exports: 40 });
    const { pending, reports_under_way } = await site.cloudFacts();
    assert.ok(pending >= 30, `${pending}`);
    assert.equal(reports_under_way, 1);
    let exitCode: number | null | undefined;
    void site.server.stop().then((code) => {
      exitCode = code;
    });
    assert.equal(await pollUntil('the server ends', () => exitCode), 0);
    assert.match(site.server.log, /"stopped"/);
    site.proxy.setPlan(PASS);
    await site.server.start({ isHere: true });
    await site.assertTold();
  });
});

describe('kill -9', () => {
  test('of the server after the cloud has counted and before the answer arrived: counted once', async (t) => {
    const site = await openWithLicense(t);
    breakReports(site, { kind: 'hang_after' });
    await site.use({ total: 3, exports: 4 });
    await waitForReport(site, 'hang_after', true);
    await site.use({ total: 5, exports: 6 });
    await site.server.stop('SIGKILL');
    site.proxy.setPlan(PASS);
    await site.server.start({ isHere: true });
    await site.assertTold();
  });

  test('of the server while a report is on its way, which arrives after its repetition', async (t) => {
    const site = await openWithLicense(t);
    const { promise: untilReleased, resolve: release } = Promise.withResolvers<void>();
    breakReports(site, { kind: 'delay', untilReleased });
    await site.use({ total: 7, exports: 8 });
    await waitForReport(site, 'delay', false);
    await site.server.stop('SIGKILL');
    site.proxy.setPlan(PASS);
    await site.server.start({ isHere: true });
    await site.assertTold();
    release();
    await waitForReport(site, 'delay', true);
    await site.assertExact();
  });

  test('of the cloud while its answer is on its way', async (t) => {
    const site = await openWithLicense(t, { isHere: true });
    breakReports(site, { kind: 'hang_after' });
    await site.use({ total: 9, exports: 1 });
    await waitForReport(site, 'hang_after', true);
    await cloud.kill();
    await site.use({ total: 1, exports: 9 });
    await cloud.restart();
    site.proxy.setPlan(PASS);
    await site.assertTold();
  });
});
