import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { NONCE_HEADER } from '@berth/protocol/cloud/cloud-binding';
import { BerthApi } from '../../support/berth-api.ts';
import { type Certificate, makeCertificate } from '../../support/certificate.ts';
import type { SeenRequest } from '../../support/chaos/chaos-journal.ts';
import { type ChaosProxy, openChaosProxy } from '../../support/chaos/chaos-proxy.ts';
import { seedLicenses, startServerProcess, temporaryFolder } from '../../support/server-process.ts';
import { startBefore } from '../../support/start-before.ts';
import {
  listMeters,
  openMachine,
  openVendor,
  readHolding,
  syncUntilTold,
  useLicense,
  type Vendor,
} from './cloud-faults.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
let vendor: Vendor;
startBefore(async (life) => {
  vendor = await openVendor(life);
});

let certificates = 0;

function makeFor(name: string, fromDay: number, toDay: number): Certificate {
  const at = (day: number) => new Date(Date.now() + day * DAY_MS);
  // Authorities are looked up by their names: each needs one of its own.
  const commonName = `Berth test ${++certificates}`;
  return makeCertificate({ names: [name], notBefore: at(fromDay), notAfter: at(toDay), commonName });
}

const GOOD = makeFor('127.0.0.1', -1, 1);
const EXPIRED = makeFor('127.0.0.1', -2, -1);
const TOO_EARLY = makeFor('127.0.0.1', 1, 2);
const OTHER_NAME = makeFor('cloud.example', -1, 1);
const UNKNOWN = makeFor('127.0.0.1', -1, 1);

setDefaultCACertificates([
  ...getCACertificates('default'),
  ...[GOOD, EXPIRED, TOO_EARLY, OTHER_NAME].map(({ cert }) => cert),
]);

async function openTlsProxy(
  t: TestContext,
  tls: Certificate,
  target = vendor.cloud.url,
): Promise<ChaosProxy> {
  const proxy = await openChaosProxy({ target, tls });
  t.after(() => proxy.close());
  return proxy;
}

describe('a cloud over TLS', () => {
  const BAD: Readonly<Record<string, readonly [Certificate, RegExp]>> = {
    'has expired': [EXPIRED, /CERT_HAS_EXPIRED/],
    'is not valid yet': [TOO_EARLY, /CERT_NOT_YET_VALID/],
    'has another name': [OTHER_NAME, /ERR_TLS_CERT_ALTNAME_INVALID/],
    'is not trusted': [UNKNOWN, /SELF_SIGNED/],
  };

  for (const [title, [certificate, reason]] of Object.entries(BAD)) {
    test(`whose certificate ${title} is sent nothing, and lending continues`, async (t) => {
      const app = await openMachine(t, vendor);
      await app.add('cad', vendor.key);
      const proxy = await openTlsProxy(t, certificate);
      const { total, exports } = await vendor.readBooks();
      const before = await readHolding(app);
      const goodUrl = app.way.url;
      app.way.url = proxy.url;
      await useLicense(app, { total: 3, exports: 4 });
      assert.equal((await app.sync()).licenses[0]?.error?.reason, 'certificate');
      const { cloud } = await app.status();
      assert.match(cloud.error?.message ?? '', reason);
      assert.equal((await app.post('/api/v4/addProduct', { product: 'cad', licenseKey: 'K' })).status, 503);
      assert.equal((await app.post('/api/v4/removeProduct', { product: 'cad' })).status, 503);
      await useLicense(app, { total: 3, exports: 4 });
      assert.deepEqual(await readHolding(app), before);
      assert.deepEqual(proxy.requests, [], 'the keys went nowhere');
      app.way.url = goodUrl;
      await syncUntilTold(app);
      const books = await vendor.readBooks();
      assert.deepEqual([books.total, books.exports], [total + 6, exports + 8]);
    });
  }

  test('is trusted through NODE_EXTRA_CA_CERTS', async (t) => {
    const proxy = await openTlsProxy(t, GOOD);
    const data = temporaryFolder(t);
    const authority = join(temporaryFolder(t), 'authority.pem');
    writeFileSync(authority, GOOD.cert);
    const { keys, publicKeyFile } = vendor.cloud;
    await seedLicenses(data);
    const server = await startServerProcess({
      data,
      args: ['--cloud-url', proxy.url, '--cloud-public-key', publicKeyFile, '--cloud-report-seconds', '3600'],
      env: { NODE_EXTRA_CA_CERTS: authority },
    });
    t.after(() => server.stop('SIGKILL'));
    const api = new BerthApi(server.url);
    t.after(() => api.close());
    await api.post('/api/v4/setKeys', { ...keys });
    const added = await api.post('/api/v4/addProduct', { product: 'cad', license_key: vendor.key });
    assert.equal(added.status, 200, added.text);
    assert.equal((await api.register({ product: 'cad', user: 'jane@example.com' })).status, 200);
    const { total } = await vendor.readBooks();
    await api.post('/api/v4/add_consumption', { product: 'cad', consumptions: 5 });
    const { licenses } = (await api.post('/api/admin/licenses/sync')).body as { licenses: { error: null }[] };
    assert.deepEqual(
      licenses.map(({ error }) => error),
      [null],
    );
    assert.equal((await vendor.readBooks()).total, total + 5);
    assert.ok(proxy.requests.length > 0);
  });
});

/** Within a record, behind its head. */
const SPOILED = 9;

/** Lets everything through; from a certain moment on it spoils what the cloud says, and hangs up. */
async function openSpoiler(t: TestContext, url: string) {
  const spoiler = { isOn: false };
  const { hostname, port } = new URL(url);
  const server = createServer((caller) => {
    const target = connect(Number(port), hostname);
    for (const socket of [caller, target]) socket.on('error', () => {});
    caller.pipe(target);
    target.on('data', (bytes: Buffer) => {
      if (!spoiler.isOn) return caller.write(bytes);
      bytes[SPOILED] = (bytes[SPOILED] as number) ^ 1;
      return caller.end(bytes);
    });
    target.on('close', () => caller.end());
    caller.on('close', () => target.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  return { spoiler, url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function isCounted({ path, targetStatus }: SeenRequest): boolean {
  return path === '/api/v4/add_consumption' && targetStatus === 200;
}

describe('an answer over TLS', () => {
  test('that is corrupted in transit leaves open whether the cloud has counted', async (t) => {
    const hiding = await openChaosProxy({
      target: vendor.cloud.url,
      plan: { kind: 'strip', field: 'report_id' },
    });
    t.after(() => hiding.close());
    // A cloud that knows no ids of reports knows no nonces either.
    hiding.hideHeaders(NONCE_HEADER);
    const app = await openMachine(t, vendor, { target: hiding.url });
    await app.add('cad', vendor.key);
    const { promise: untilReleased, resolve: release } = Promise.withResolvers<void>();
    const tls = await openTlsProxy(t, GOOD, hiding.url);
    const { spoiler, url } = await openSpoiler(t, tls.url);
    const { total } = await vendor.readBooks();
    app.way.url = url;
    await app.post('/api/v4/add_consumption', { product: 'cad', consumptions: 7 });
    tls.setPlan({ kind: 'delay', untilReleased });
    const synced = app.sync();
    await tls.waitFor((requests) => requests.length === 1);
    spoiler.isOn = true;
    release();
    const error = (await synced).licenses[0]?.error;
    assert.equal(error?.code, 'cloud_unavailable');
    assert.notEqual(error?.reason, 'certificate');
    await hiding.waitFor((requests) => requests.some(isCounted));
    assert.equal((await vendor.readBooks()).total, total + 7, 'the cloud has counted');
    spoiler.isOn = false;
    tls.setPlan({ kind: 'pass' });
    await syncUntilTold(app);
    assert.equal((await vendor.readBooks()).total, total + 7, 'it has counted once');
    assert.deepEqual(
      (await listMeters(app)).flatMap(({ uncertain }) => uncertain),
      [],
    );
  });

  test('from a cloud that speaks no TLS is rejected', async (t) => {
    const app = await openMachine(t, vendor);
    await app.add('cad', vendor.key);
    app.way.url = app.proxy.url.replace('http:', 'https:');
    const error = (await app.sync()).licenses[0]?.error;
    assert.equal(error?.code, 'cloud_unavailable');
  });
});
