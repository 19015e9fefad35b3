import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { DAY_MS, HOUR_MS } from '../../packages/server/src/core/nouns/instant.ts';
import { type License, licenseId } from '../../packages/server/src/core/nouns/license.ts';
import { type CloudApp, openCloudApp } from '../support/cloud/cloud-app.ts';
import { type RunningCloud, startCloudHere } from '../support/cloud/cloud-process.ts';
import { signedHeaders } from '../support/cloud/test-cloud.ts';
import { temporaryFolder } from '../support/server-process.ts';
import { readEvents } from '../support/test-app.ts';

const HARDWARE_ID = 'restored-cloud';
const SLOTS = { sold: 3, other: 5 };

interface Site {
  readonly app: CloudApp;
  readonly vendor: RunningCloud;
  /** Of the license that was sold after the backup, with its id then and now. */
  readonly key: string;
  readonly id: number;
  readonly newId: number;
  /** Of another license, which has the id now. */
  readonly otherKey: string;
}

/**
 * A vendor sells a license, restores a backup from before, sells another one, which gets the same id as the
 * clouds of version 0.1.0 gave it, and creates the first again. The server has the first.
 */
async function openSite(t: TestContext): Promise<Site> {
  const file = join(temporaryFolder(t), 'one.backup');
  const vendor = await startCloudHere(t);
  await vendor.grant('cad', '--slots', '1');
  await vendor.run('backup', file);
  const terms = ['--borrow-hours', '48', '--unlimited-consumptions', '--feature', 'render,slots=2'];
  const sold = ['--slots', String(SLOTS.sold), ...terms];
  const key = await vendor.grant('cad', ...sold);
  const { id } = await vendor.showLicense(key);
  const app = await openCloudApp(t, { vendor, hardwareId: HARDWARE_ID });
  await app.add('cad', key);
  await vendor.stop();
  await vendor.run('restore', file);
  const otherKey = await vendor.grant('cad', '--slots', String(SLOTS.other));
  await vendor.grant('cad', '--key', key, ...sold);
  giveId(vendor, otherKey, id);
  await vendor.restart();
  const { id: newId } = await vendor.showLicense(key);
  assert.notEqual(newId, id);
  return { app, vendor, key, id, newId, otherKey };
}

function giveId({ data }: RunningCloud, key: string, id: number): void {
  const db = new DatabaseSync(join(data, 'cloud.db'));
  db.prepare('UPDATE license SET id = ? WHERE license_key = ?').run(id, key);
  db.close();
}

/** Everybody asks for a slot; returns how many are held then, and what the others were told. */
async function askForAll({ app }: Site, users = 12) {
  const codes = new Set<string>();
  for (let n = 0; n < users; n++) {
    const { status, body } = await app.post('/api/v4/register', { product: 'cad', user: `user-${n}` });
    if (status !== 200) codes.add(body.code as string);
  }
  const { registrations } = (await app.get('/api/admin/registrations')).body as unknown as {
    readonly registrations: readonly unknown[];
  };
  return { held: registrations.length, codes: [...codes] };
}

async function listLicenses({ app }: Site) {
  const { licenses } = (await app.get('/api/admin/licenses')).body as unknown as {
    readonly licenses: readonly Shown[];
  };
  return licenses;
}

interface Shown {
  readonly id: number;
  readonly license_key: string;
  readonly state: string;
  readonly floating_in_use: number;
  readonly borrowed: number;
  readonly total_consumptions: number;
  readonly answered_license_id: number | null;
}

async function findProblems({ app }: Site): Promise<string> {
  const { findings } = (await app.get('/api/admin/doctor')).body as unknown as {
    readonly findings: readonly { readonly severity: string; readonly text: string }[];
  };
  return findings.flatMap(({ severity, text }) => (severity === 'problem' ? [text] : [])).join('\n');
}

/** As a server of version 0.1.0 did when the key was added again: both are there and lend. */
async function addTwice({ app, vendor, key, newId }: Site): Promise<void> {
  const body = JSON.stringify({ hardware_id: HARDWARE_ID, product: 'cad', license_key: key });
  const headers = signedHeaders(vendor.keys, Date.now());
  await fetch(`${vendor.url}/api/v4/activate_license`, { method: 'POST', headers, body });
  const [record] = await app.store.read({ kind: 'list_licenses', product: 'cad' });
  const license = { ...(record?.license as License), id: licenseId(newId) };
  await app.store.execute({ kind: 'install_license', license, by: 'admin' });
}

describe('after a restore of the cloud', () => {
  test('the key replaces the license that is here, and never more is lent than sold', async (t) => {
    const site = await openSite(t);
    const { app, vendor, key, id, newId, otherKey } = site;
    for (const user of ['ada', 'bob']) {
      assert.equal(
        (await app.post('/api/v4/register', { product: 'cad', user, license_id: id })).status,
        200,
      );
    }
    const borrowed = await app.post('/api/v4/borrow', { product: 'cad', user: 'cleo', license_id: id });
    assert.equal(borrowed.status, 200, borrowed.text);
    const feature = { product: 'cad', feature: 'render', user: 'ada', license_id: id };
    assert.equal((await app.post('/api/v4/featureRegister', feature)).status, 200);
    await app.post('/api/v4/add_consumption', { product: 'cad', consumptions: 7, license_id: id });

    const refused = await app.post('/api/v4/addProduct', { product: 'cad', licenseKey: otherKey });
    assert.equal(refused.status, 400);
    assert.match(String(refused.body.message), new RegExp(`id ${id}: .*Add that license again first`));
    assert.equal((await vendor.showLicense(otherKey)).activations, 0, 'it was returned');
    assert.equal((await listLicenses(site))[0]?.license_key, key, 'and has not taken the place of the other');

    const added = (await app.add('cad', key)) as unknown as Shown;
    assert.equal(added.id, newId);
    const [shown, ...others] = await listLicenses(site);
    assert.deepEqual(others, []);
    assert.deepEqual(
      [shown?.id, shown?.floating_in_use, shown?.borrowed, shown?.total_consumptions],
      [newId, 3, 1, 7],
    );
    const renewed = await app.post('/api/v4/register', { product: 'cad', user: 'ada', license_id: id });
    assert.deepEqual([renewed.status, renewed.body.license_id], [200, newId], 'the client knows the old id');
    assert.deepEqual(
      (await app.sync()).licenses.map(({ error }) => error),
      [null],
    );
    assert.equal((await vendor.showLicense(key)).total_consumptions, 7);

    await app.add('cad', otherKey);
    const { held, codes } = await askForAll(site);
    assert.deepEqual([held, codes], [SLOTS.sold + SLOTS.other, ['floating_not_available']]);
    assert.deepEqual(
      (await app.sync()).licenses.map(({ error }) => error),
      [null, null],
    );
  });

  test('a server that has the key twice stops lending one of them, and removes the right one', async (t) => {
    const site = await openSite(t);
    const { app, vendor, key, id, newId } = site;
    await addTwice(site);
    const user = { product: 'cad', user: 'ada', license_id: id };
    assert.equal((await app.post('/api/v4/register', user)).status, 200);
    for (const hours of [0, 12, 11.9]) {
      app.clock.advance(hours * HOUR_MS);
      const { licenses } = await app.sync();
      const doubted = licenses.find(({ license_id }) => license_id === id);
      assert.equal(doubted?.error?.reason, 'not_bound');
      assert.match(doubted?.error?.message ?? '', new RegExp(`${newId} instead of ${id}`));
      assert.match(await findProblems(site), new RegExp(`answers for license ${newId} .*${id} of "cad"`));
      const shown = (await listLicenses(site)).find((license) => license.id === id);
      assert.deepEqual([shown?.answered_license_id, shown?.state], [newId, 'active']);
      assert.equal((await app.post('/api/v4/register', user)).status, 200);
    }
    app.clock.advance(0.1 * HOUR_MS);
    await app.sync();
    const late = await app.post('/api/v4/register', { ...user, user: 'bob' });
    assert.deepEqual([late.status, late.body.code], [400, 'license_check_overdue']);
    assert.equal((await app.post('/api/v4/register', user)).status, 200, 'who holds a slot keeps it');
    assert.match(await findProblems(site), /It lends no new slots/);

    const before = await vendor.showLicense(key);
    const removed = await app.post('/api/v4/removeProduct', { product: 'cad', license_id: id });
    assert.equal(removed.status, 200, removed.text);
    const after = await vendor.showLicense(key);
    assert.deepEqual([before.activations, after.activations], [1, 1], 'the right one stays activated');
    assert.deepEqual(
      (await app.sync()).licenses.map(({ error }) => error),
      [null],
    );
    const { codes } = await askForAll(site);
    assert.deepEqual(codes, ['floating_not_available']);
  });

  test('adding the key again settles a license that is doubtful', async (t) => {
    const site = await openSite(t);
    const { app, key, newId } = site;
    for (const advance of [0, DAY_MS / 2, DAY_MS / 2]) {
      app.clock.advance(advance);
      await app.sync();
    }
    assert.deepEqual((await askForAll(site)).codes, ['license_check_overdue']);
    await app.add('cad', key);
    const [shown, ...others] = await listLicenses(site);
    assert.deepEqual([shown?.id, shown?.state, shown?.answered_license_id], [newId, 'active', null]);
    assert.deepEqual(others, []);
    assert.deepEqual(await askForAll(site), { held: SLOTS.sold, codes: ['floating_not_available'] });
    const doubts = (await readEvents(app.store)).filter(({ kind }) => kind === 'license_doubted');
    assert.equal(doubts.length, 2);
  });
});
