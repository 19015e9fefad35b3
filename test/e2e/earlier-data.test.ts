import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { isSignedBy, readPublicKey, SIGNATURE_HEADER } from '@berth/protocol/cloud/vendor-signature';
import { runBerth } from '../support/berth-command.ts';
import { ask, createCommandLine, type Run } from '../support/cloud/cloud-command-line.ts';
import { startCloudProcess } from '../support/cloud/cloud-process.ts';
import { ADMIN, HARDWARE_ID, KEYS, OPERATOR } from '../support/earlier-data/facts.ts';
import { OLD_REQUESTS, sendOldRequest } from '../support/earlier-data/old-requests.ts';
import { copyEarlierData, OLD_ANSWERS, SECRETS } from '../support/earlier-data/open.ts';
import { startServerProcess, temporaryFolder } from '../support/server-process.ts';
import { hasPostgres, sharedPostgres } from '../support/stores/postgres.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const shared = sharedPostgres();

const WITHOUT_KEYS = { withKeys: false } as const;

interface World {
  readonly url: string;
  /** The vendor's command line. */
  readonly vendor: Run;
  /** Of an administrator. */
  readonly token: string;
}

/** Today's server and today's cloud on the data of earlier ones. */
async function open(t: TestContext, store: 'SQLite' | 'PostgreSQL'): Promise<World> {
  const { server: data, cloud: cloudData } = copyEarlierData(t);
  const cloud = await startCloudProcess(t, { data: cloudData, ...WITHOUT_KEYS });
  const airgapKey = join(temporaryFolder(t), 'airgap.key');
  const vendor = createCommandLine(t, cloudData);
  writeFileSync(airgapKey, (await vendor('airgap-public-key')).out);
  const env: Record<string, string> = { BERTH_HARDWARE_ID: HARDWARE_ID };
  if (store === 'PostgreSQL') {
    env.BERTH_DATABASE_URL = await (await shared()).createDatabase();
    const moved = await runBerth(data, ['migrate-store', 'to-postgres'], env);
    assert.equal(moved.code, 0, moved.stderr);
  }
  const args = [
    ...['--cloud-url', cloud.url, '--cloud-public-key', cloud.publicKeyFile],
    ...['--airgap-public-key', airgapKey, '--cloud-report-seconds', '86400', '--cloud-settle-seconds', '0'],
  ];
  const server = await startServerProcess({ data, args, env });
  t.after(() => server.stop('SIGKILL'));
  return { url: server.url, vendor, token: await signIn(server.url, ADMIN) };
}

async function send(
  url: string,
  path: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
) {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
  const typed = { 'content-type': 'application/json', ...headers };
  const response = await fetch(`${url}${path}`, { ...init, headers: typed });
  const text = await response.text();
  assert.equal(response.status, 200, `${path}: ${text}`);
  return text.startsWith('{') ? JSON.parse(text) : text;
}

async function signIn(url: string, { name, password }: typeof ADMIN | typeof OPERATOR): Promise<string> {
  const credentials = Buffer.from(`${name}:${password}`).toString('base64');
  return (await send(url, '/auth', undefined, { authorization: `Basic ${credentials}` })).token;
}

function administrate({ url, token }: World, path: string, body?: object) {
  return send(url, path, body, { authorization: `Bearer ${token}` });
}

async function readTotals({ url }: World, product: string): Promise<readonly number[]> {
  const { total_consumptions: total, product_features: features } = await send(
    url,
    `/api/v4/license?product=${product}`,
  );
  const [feature] = features.filter(({ code }: { code: string }) => code === 'export');
  return [total, feature.total_consumptions];
}

async function readVendorTotals({ vendor }: World, key: string): Promise<readonly number[]> {
  const { total_consumptions: total, features } = await ask(vendor, `license show ${key}`);
  const [feature] = features.filter(({ code }: { code: string }) => code === 'export');
  return [total, feature.total_consumptions];
}

/** Whoever could sign in still can, and so can programs. */
async function assertAccounts({ url }: World): Promise<void> {
  for (const token of [await signIn(url, OPERATOR), SECRETS.token]) {
    await send(url, '/api/admin/registrations', undefined, { authorization: `Bearer ${token}` });
  }
}

interface Slot {
  readonly product: string;
  readonly user: string;
  readonly borrowed_until: string | null;
}

/** Ten years from when the data was made: as long as the licenses allow. */
const BORROWED_UNTIL = '2036-01-30';

/** Who held a slot when the server stopped holds it when it starts, and a borrowed one until its date. */
async function assertSlots(world: World): Promise<void> {
  const { registrations } = await administrate(world, '/api/admin/registrations');
  const isBorrowed = Date.now() < Date.parse(BORROWED_UNTIL);
  for (const product of Object.keys(KEYS)) {
    const held = (registrations as readonly Slot[]).filter((slot) => slot.product === product);
    const users = held.map(({ user, borrowed_until: until }) =>
      `${user} ${until?.slice(0, 10) ?? ''}`.trim(),
    );
    assert.deepEqual(users.sort(), isBorrowed ? ['ada', `bob ${BORROWED_UNTIL}`] : ['ada']);
  }
}

/** What was counted is there; what the vendor was not told, it is told now, once. */
async function assertTotals(world: World): Promise<void> {
  for (const product of ['drawing', 'render']) {
    assert.deepEqual(await readTotals(world, product), [10, 3]);
  }
  assert.deepEqual(await readTotals(world, 'cad'), [19, 3]);
  await syncAll(world);
  assert.deepEqual(await readVendorTotals(world, KEYS.cad), [19, 3]);
  await send(world.url, '/api/v4/add_consumption', { product: 'cad', consumptions: 2 });
  await syncAll(world);
  assert.deepEqual(await readVendorTotals(world, KEYS.cad), [21, 3]);
  assert.deepEqual(await readTotals(world, 'cad'), [21, 3]);
}

/** Twice: first what is on its way, then what is pending. */
async function syncAll(world: World): Promise<void> {
  for (let round = 0; round < 2; round++) await syncOnce(world);
}

async function syncOnce(world: World): Promise<void> {
  const { licenses } = await administrate(world, '/api/admin/licenses/sync', {});
  assert.deepEqual([licenses.length, licenses[0].error], [1, null]);
}

/** A file signed with the identity key of the server is one from the server that the vendor knows. */
async function assertUsageFile(t: TestContext, world: World): Promise<void> {
  const file = join(temporaryFolder(t), 'usage');
  writeFileSync(file, (await administrate(world, '/api/admin/usage', {})).usage_data);
  await ask(world.vendor, `offline usage ${file}`);
  for (const key of [KEYS.drawing, KEYS.render]) {
    assert.deepEqual(await readVendorTotals(world, key), [10, 3]);
  }
}

async function assertLending({ url }: World): Promise<void> {
  for (const product of ['demo', ...Object.keys(KEYS)]) {
    await send(url, '/api/v4/register', { product, user: 'eve' });
    await send(url, '/api/v4/register', { product, user: 'ada' });
    assert.equal(await send(url, '/api/v4/unregister', { product, user: 'eve' }), 'user_unregistered');
  }
}

/** Given back and taken again, a license goes on where it was. */
async function assertRemovable(world: World): Promise<void> {
  await administrate(world, `/api/v4/removeProduct?product=cad`);
  assert.equal((await ask(world.vendor, `license show ${KEYS.cad}`)).devices.length, 0);
  await administrate(world, `/api/v4/addProduct?product=cad&licenseKey=${KEYS.cad}`);
  assert.deepEqual(await readTotals(world, 'cad'), [21, 3]);
}

async function assertAudit(world: World): Promise<void> {
  const { ok, problems } = await administrate(world, '/api/admin/audit/verify');
  assert.ok(ok, JSON.stringify(problems));
}

describe('data of an earlier release', () => {
  for (const store of ['SQLite', 'PostgreSQL'] as const) {
    test(`continues in a newer server and a newer cloud, on ${store}`, {
      skip: store === 'SQLite' ? false : skip,
    }, async (t) => {
      const world = await open(t, store);
      await assertAudit(world);
      await assertSlots(world);
      await assertAccounts(world);
      await assertTotals(world);
      await assertUsageFile(t, world);
      await assertLending(world);
      await assertRemovable(world);
      await assertAudit(world);
    });
  }

  test('an earlier server gets from a newer cloud what it got from an earlier one', async (t) => {
    const cloud = await startCloudProcess(t, { data: copyEarlierData(t).cloud, ...WITHOUT_KEYS });
    const publicKey = readPublicKey(readFileSync(cloud.publicKeyFile, 'utf8'));
    for (const [index, request] of OLD_REQUESTS.entries()) {
      const response = await sendOldRequest(cloud.url, SECRETS, request);
      const bytes = Buffer.from(await response.arrayBuffer());
      const signature = response.headers.get(SIGNATURE_HEADER) ?? '';
      const old = OLD_ANSWERS[index];
      const { status, headers } = response;
      assert.deepEqual([status, headers.get('content-type')], [old?.status, old?.contentType], request.name);
      assert.ok(isSignedBy(publicKey, bytes, signature), request.name);
      assert.deepEqual(
        comparable(status, bytes.toString()),
        comparable(status, old?.body ?? ''),
        request.name,
      );
    }
  });
});

/** Byte for byte; of a refusal, the sentence for people may be another one. */
function comparable(status: number, body: string): unknown {
  if (status === 200) return body;
  const { message: _, ...rest } = JSON.parse(body);
  return rest;
}
