import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { CloudKeys } from '@berth/protocol/cloud/cloud-authorization';
import { createCarriedServer } from '../../../../test/support/cloud/carried-server.ts';
import { type Answer, START, signedHeaders } from '../../../../test/support/cloud/test-cloud.ts';
import { createTestPortal, given, refused, told } from '../../../../test/support/cloud/test-portal.ts';
import { listDevices } from '../../src/store/devices.ts';
import { createKey } from '../../src/store/keys/keys.ts';
import { listServerKeys } from '../../src/store/keys/server-keys.ts';
import { listWaitingKeys } from '../../src/store/keys/waiting-keys.ts';
import { changeLicense } from '../../src/store/licenses.ts';
import { hashPassword } from '../../src/store/passwords.ts';

const MACHINE = 'machine-1';

/** Two customers with a pair of keys each, and a license of the first one. */
function openShop(t: TestContext) {
  const portal = createTestPortal(t);
  const { cloud, store } = portal;
  const pairOf = (customer: string) => createKey(store, customer, START, customer) as CloudKeys;
  const [acme, rival] = [pairOf('acme'), pairOf('rival')];
  const key = cloud.grant({ slots: 5, consumption: { max: 10 } }, { customer: 'acme' });
  const who = (license_key: string) => ({ product: 'cad', license_key, hardware_id: MACHINE });
  /** Every operation on a license. */
  const attempt = async (keys: CloudKeys, license_key: string): Promise<Record<string, Answer>> => {
    const headers = signedHeaders(keys, cloud.now);
    const counted = { ...who(license_key), consumptions: 1 };
    return {
      activate: await cloud.post('activate_license', who(license_key), headers),
      check: await cloud.get('check_license', who(license_key), headers),
      count: await cloud.post('add_consumption', counted, headers),
      feature: await cloud.post('add_feature_consumption', { ...counted, feature: 'a' }, headers),
      deactivate: await cloud.post('deactivate_license', who(license_key), headers),
    };
  };
  return { ...portal, acme, rival, key, attempt };
}

describe('a pair of keys of a customer', () => {
  test('opens the licenses of that customer only, and all others seem not to exist', async (t) => {
    const { cloud, store, acme, rival, key, attempt, dump } = openShop(t);
    const nobodys = cloud.grant({ slots: 5 });
    await cloud.post('activate_license', { product: 'cad', license_key: key, hardware_id: MACHINE });
    const before = dump();
    const unknown = await attempt(rival, 'NO-SUCH-KEY');
    for (const license of [key, nobodys]) {
      const answers = await attempt(rival, license);
      for (const [operation, { status, text }] of Object.entries(answers)) {
        assert.deepEqual([status, text], [unknown[operation]?.status, unknown[operation]?.text], operation);
        assert.match(text, /license_not_found/);
      }
    }
    assert.equal(dump(), before);
    assert.equal((await attempt(acme, nobodys)).activate?.status, 400);
    const own = await attempt(acme, key);
    for (const name of ['activate', 'check', 'count', 'deactivate'])
      assert.equal(own[name]?.status, 200, name);
    changeLicense(store, { key, user: null, customer: 'rival', terms: {} }, cloud.now);
    assert.equal((await attempt(rival, key)).activate?.status, 200);
    assert.equal((await attempt(acme, key)).activate?.status, 400, 'it was sold on');
  });

  test('tells nothing about users of another customer', async (t) => {
    const { cloud, acme, rival } = openShop(t);
    const user = { name: 'ada', passwordHash: await hashPassword('correct horse') };
    cloud.grant({ slots: 5 }, { product: 'crm', user, customer: 'acme' });
    const login = { product: 'crm', username: 'ada', password: 'correct horse', hardware_id: MACHINE };
    const ask = (keys: CloudKeys, fields: object) =>
      cloud.post('activate_license', { ...login, ...fields }, signedHeaders(keys, cloud.now));
    const foreign = await ask(rival, {});
    assert.deepEqual([foreign.status, foreign.text], [400, (await ask(rival, { username: 'bob' })).text]);
    assert.equal((await ask(acme, {})).status, 200);
  });

  test('is found without reading rows, whose size would tell by time which keys exist', (t) => {
    const { store } = openShop(t);
    for (const [statement, index] of [
      [store.sql.findOpenLicense, 'license_of_customer'],
      [store.sql.findLicenseByKey, 'license_of_customer'],
      [store.sql.findLicenseByUser, 'user_of_customer'],
    ] as const) {
      const plan = store.db.prepare(`EXPLAIN QUERY PLAN ${statement.sourceSQL}`).all({ customer: 'acme' });
      const steps = plan.map(({ detail }) => String(detail));
      assert.ok(
        steps.some((step) => step.includes(`USING COVERING INDEX ${index}`)),
        steps.join('\n'),
      );
    }
  });

  test('answers no file for the license of another, and vouches for no server of another', async (t) => {
    const { acme, rival, key, activate, deactivate, store, cloud, usage } = openShop(t);
    const victim = createCarriedServer(MACHINE);
    const forged = createCarriedServer(MACHINE);
    const unknown = refused(activate(victim.request({ licenseKey: 'NO-SUCH-KEY' }, rival)));
    assert.equal(refused(activate(victim.request({ licenseKey: key }, rival))), unknown);
    given(activate(victim.request({ licenseKey: key }, acme)));
    const own = cloud.grant({ slots: 1 }, { customer: 'rival' });
    assert.equal(refused(activate(forged.request({ licenseKey: own }, rival))), 'server_key_not_approved');
    assert.equal(listServerKeys(store, null).length, 1);
    const back = { request: 'deactivation', licenseKey: key } as const;
    assert.equal(refused(deactivate(forged.request(back))), 'signature_mismatch');
    given(deactivate(victim.request(back)));
    assert.equal(listDevices(store, null).length, 0);
    const id = cloud.folder.store.sql.findLicense.get(key)?.id as number;
    assert.equal(refused(usage(forged.usage(told(id, key, 1)))), 'license_not_found');
  });

  test('vouches for a server for the licenses of its customer, not for those that come later', async (t) => {
    const { rival, key, activate, deactivate, cloud, store } = openShop(t);
    const squatter = createCarriedServer(MACHINE);
    const own = cloud.grant({ slots: 1 }, { customer: 'rival' });
    given(activate(squatter.request({ licenseKey: own }, rival)));
    await cloud.post('activate_license', { product: 'cad', license_key: key, hardware_id: MACHINE });
    const back = squatter.request({ request: 'deactivation', licenseKey: key });
    assert.equal(refused(deactivate(back)), 'server_key_not_approved');
    assert.equal(listWaitingKeys(store, null).length, 1);
    assert.equal(listDevices(store, null).length, 2);
  });
});

test('a pair without a customer belongs to the vendor, and opens every license', async (t) => {
  const { cloud, key, attempt } = openShop(t);
  for (const license of [key, cloud.grant({ slots: 1 }, { customer: 'rival' })]) {
    assert.equal((await attempt(cloud.keys, license)).check?.status, 200);
  }
});
