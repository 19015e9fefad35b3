import assert from 'node:assert/strict';
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { signBytes } from '@berth/protocol/cloud/vendor-signature';
import type { MadeUpStatus } from '../../support/chaos/chaos-fault.ts';
import { rsaKeysOf } from '../../support/rsa-keys.ts';
import { startBefore } from '../../support/start-before.ts';
import {
  type GenuineAnswer,
  listMeters,
  type MachineApp,
  openMachine,
  openVendor,
  readHolding,
  syncUntilTold,
  useLicense,
  type Vendor,
} from './cloud-faults.ts';

let vendor: Vendor;
let genuine: KeyObject;
startBefore(async (life) => {
  vendor = await openVendor(life);
  genuine = createPrivateKey(readFileSync(join(vendor.cloud.data, 'signing-key.pem'), 'utf8'));
});
const stranger = rsaKeysOf('stranger').privateKey;

const CHECK = '/api/v4/check_license';
const REPORT = '/api/v4/add_consumption';
const USER = { product: 'cad', user: 'jane@example.com' };

/** Somebody on the way answers one operation in place of the cloud. */
function answerFor(app: MachineApp, operation: string, answer: MadeUpStatus): void {
  app.proxy.setPlan(({ path }) => (path === operation ? { kind: 'status', ...answer } : { kind: 'pass' }));
}

function signed(key: typeof stranger, code: number, facts: object): MadeUpStatus {
  const body = JSON.stringify(facts);
  return { code, body, headers: { LicenseSignature: signBytes(key, Buffer.from(body)) } };
}

async function findError(app: MachineApp) {
  return (await app.sync()).licenses[0]?.error ?? null;
}

/** `older`: a cloud that does not know nonces. */
async function openAdded(t: Parameters<typeof openMachine>[0], cloud: 'bound' | 'older' = 'bound') {
  const app = await openMachine(t, vendor, { hidesNonces: cloud === 'older' });
  await app.add('cad', vendor.key);
  return { app, before: await readHolding(app) };
}

const VERDICTS = [
  'license_not_enabled',
  'license_not_active',
  'license_expired',
  'blacklisted',
  'device_not_found',
  'license_not_found',
];

function refusal(code: string) {
  return { status: 400, code, message: 'No.' };
}

describe('a verdict', () => {
  for (const code of VERDICTS) {
    for (const [cloud, shown] of [
      ['bound', 'cloud_unavailable'],
      ['older', code],
    ] as const) {
      test(`"${code}" without the vendor's signature changes nothing (${cloud})`, async (t) => {
        const { app, before } = await openAdded(t, cloud);
        const forged = signed(stranger, 400, refusal(code));
        for (const answer of [{ code: 400, body: forged.body as string }, forged]) {
          for (let round = 0; round < 2; round++) {
            answerFor(app, CHECK, answer);
            assert.equal((await findError(app))?.code, shown, 'it is shown');
            assert.deepEqual(await readHolding(app), before);
            assert.equal((await app.post('/api/v4/register', USER)).status, 200);
          }
        }
      });
    }

    test(`"${code}" signed by the vendor but unbound waits for a second`, async (t) => {
      const { app } = await openAdded(t, 'older');
      answerFor(app, CHECK, signed(genuine, 400, refusal(code)));
      assert.equal((await findError(app))?.code, code);
      assert.equal((await app.post('/api/v4/register', USER)).status, 200);
      assert.equal((await findError(app))?.code, code);
      const { news } = await readHolding(app);
      assert.equal(news.filter(({ kind }) => kind === 'license_changed').length, 1);
      const refused = (await app.post('/api/v4/register', USER)).body.code;
      assert.match(String(refused), /^license_(not_enabled|not_active|expired)$/);
    });
  }

  test('of the vendor can be revoked by the vendor', async (t) => {
    const key = await vendor.cloud.grant('draw', '--slots', '2');
    const app = await openMachine(t, vendor);
    await app.add('draw', key);
    await vendor.cloud.run('license', 'disable', key);
    assert.equal((await findError(app))?.code, 'license_not_enabled');
    const user = { ...USER, product: 'draw' };
    assert.equal((await app.post('/api/v4/register', user)).body.code, 'license_not_enabled');
    await vendor.cloud.run('license', 'enable', key);
    assert.equal(await findError(app), null);
    assert.equal((await app.post('/api/v4/register', user)).status, 200);
  });

  test('about a report proves nothing without a signature: it may have been counted', async (t) => {
    const { app } = await openAdded(t);
    const books = await vendor.readBooks();
    await useLicense(app, { total: 3, exports: 1 });
    app.proxy.setPlan(({ path }) => {
      const body = JSON.stringify(refusal('license_not_enabled'));
      return path === REPORT ? { kind: 'status_after', code: 400, body } : { kind: 'pass' };
    });
    await findError(app);
    const { under_way } = (await listMeters(app)).find(({ feature }) => feature === null) ?? {};
    assert.equal(under_way?.amount, 3, 'it stays on its way');
    app.proxy.setPlan({ kind: 'pass' });
    await syncUntilTold(app);
    assert.equal((await vendor.readBooks()).total, books.total + 3);
  });

  test('cannot fill the log, the status or a terminal', async (t) => {
    const { app } = await openAdded(t, 'older');
    const facts = {
      code: `\u001b[2J${'x'.repeat(500_000)}`,
      message: `\u001b]0;\u0007${'y'.repeat(400_000)}`,
    };
    answerFor(app, CHECK, { code: 400, body: JSON.stringify(facts) });
    const said = JSON.stringify(await findError(app));
    assert.ok(said.length < 1000, `${said.length} characters`);
    assert.doesNotMatch(said, /\\u00|\p{Cc}/u);
    answerFor(app, '/api/v4/activate_license', { code: 400, body: JSON.stringify(facts) });
    const added = await app.post('/api/v4/addProduct', { product: 'cad', licenseKey: vendor.key });
    assert.equal(added.status, 400);
    assert.ok(added.text.length < 1000, `${added.text.length} characters`);
    assert.doesNotMatch(added.text, /\\u00|\p{Cc}/u);
  });
});

describe('a license', () => {
  const who = (hardwareId: string, key = vendor.key, product = 'cad') => ({
    product,
    license_key: key,
    hardware_id: hardwareId,
  });

  async function assertNotTaken(app: MachineApp, answer: GenuineAnswer | MadeUpStatus, reason: string) {
    const before = await readHolding(app);
    answerFor(app, CHECK, answer);
    assert.equal((await findError(app))?.reason, reason);
    assert.deepEqual(await readHolding(app), before);
  }

  test('that somebody else signed is rejected', async (t) => {
    const { app } = await openAdded(t);
    const { body } = await vendor.ask('check_license', who(app.hardwareId));
    const facts = { ...JSON.parse(body), floating_users: 1000 };
    await assertNotTaken(app, signed(stranger, 200, facts), 'not_signed');
  });

  test('of another product is rejected', async (t) => {
    const key = await vendor.cloud.grant('other', '--slots', '50');
    const { app } = await openAdded(t);
    const answer = await vendor.ask('activate_license', who(app.hardwareId, key, 'other'));
    await assertNotTaken(app, answer, 'not_understood');
  });

  test('of the same product with another key is rejected', async (t) => {
    const key = await vendor.cloud.grant('cad', '--slots', '50');
    const { app } = await openAdded(t);
    const answer = await vendor.ask('activate_license', who(app.hardwareId, key));
    await assertNotTaken(app, answer, 'not_understood');
    answerFor(app, '/api/v4/activate_license', answer);
    const added = await app.post('/api/v4/addProduct', { product: 'cad', licenseKey: vendor.key });
    assert.equal(added.body.code, 'cloud_unavailable');
    assert.equal((await readHolding(app)).licenses.length, 1);
  });

  test('of another machine is rejected', async (t) => {
    const { app } = await openAdded(t);
    const answer = await vendor.ask('activate_license', who('another-machine'));
    await assertNotTaken(app, answer, 'not_understood');
  });
});

describe('a report is not settled', () => {
  async function openReporting(t: Parameters<typeof openMachine>[0]) {
    const { app } = await openAdded(t);
    const books = await vendor.readBooks();
    await useLicense(app, { total: 1, exports: 1 });
    await syncUntilTold(app);
    await app.post(REPORT, { product: 'cad', consumptions: 6 });
    return { app, total: books.total + 7 };
  }

  async function assertNotSettled(app: MachineApp, answer: MadeUpStatus, total: number) {
    answerFor(app, REPORT, answer);
    assert.equal((await findError(app))?.reason, 'not_understood');
    assert.equal((await app.status()).cloud.reports_under_way, 1);
    app.proxy.setPlan({ kind: 'pass' });
    await syncUntilTold(app);
    assert.equal((await vendor.readBooks()).total, total);
  }

  test('by the answer to another report', async (t) => {
    const { app, total } = await openReporting(t);
    const fields = { product: 'cad', license_key: vendor.key, hardware_id: app.hardwareId };
    const old = await vendor.ask('add_consumption', { ...fields, consumptions: '0', report_id: 'old' });
    assert.equal(old.code, 200);
    await assertNotSettled(app, old, total);
  });

  test('by the answer to another request', async (t) => {
    const { app, total } = await openReporting(t);
    const fields = { product: 'cad', license_key: vendor.key, hardware_id: app.hardwareId };
    await assertNotSettled(app, await vendor.ask('check_license', fields), total);
  });
});
