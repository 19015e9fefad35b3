import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { loadTotals } from '@berth/cloud/store/execute';
import { getLicense } from '@berth/cloud/store/licenses';
import { listWaitingKeys } from '@berth/cloud/store/waiting-keys';
import { createCarriedServer } from '../../support/carried-server.ts';
import type { TestCloud } from '../../support/test-cloud.ts';
import { createTestPortal, given, refused, told } from '../../support/test-portal.ts';

/** As a browser sends it from the page. */
async function handIn(cloud: TestCloud, file: string) {
  const form = new FormData();
  form.set('file', new Blob([file]), 'a.req');
  const { status, text } = await cloud.send('/portal/offline', { method: 'POST', body: form });
  return { status, text };
}

/** A license that is activated over the network on the honest server, whose key nobody has seen yet. */
async function createVictim(t: TestContext) {
  const portal = createTestPortal(t, { slots: 5, consumption: { max: 1000 } });
  const { cloud, key, shelf, licenseId } = portal;
  const online = { product: 'cad', license_key: key, hardware_id: 'honest' };
  assert.equal((await cloud.post('activate_license', online)).status, 200);
  return {
    ...portal,
    /** Whoever knows the license key, which every client is told, and the hardware id. */
    stranger: createCarriedServer('honest'),
    forged: told(licenseId, key, 900),
    isActivated: async () => (await cloud.get('check_license', online)).status === 200,
    total: () => loadTotals(shelf, given(getLicense(shelf, key)), cloud.now).get(''),
  };
}

describe('taking over a license through the portal', () => {
  test('a forged deactivation gives nothing back and counts nothing', async (t) => {
    const victim = await createVictim(t);
    const { stranger, cloud, key } = victim;
    const usage = stranger.usageContent(victim.forged);
    const answer = await handIn(cloud, stranger.request({ request: 'deactivation', licenseKey: key, usage }));
    assert.equal(answer.status, 400);
    assert.match(answer.text, /cloud device approve/);
    assert.ok(await victim.isActivated());
    assert.equal(victim.total(), 0);
    const next = createCarriedServer('elsewhere').request({ licenseKey: key });
    assert.equal((await handIn(cloud, next)).status, 400, 'no activation has become free');
  });

  test('forged usage adds no counts', async (t) => {
    const victim = await createVictim(t);
    const answer = await handIn(victim.cloud, victim.stranger.usage(victim.forged));
    assert.equal(answer.status, 400);
    assert.equal(victim.total(), 0);
  });

  test('a forged activation for an activated machine yields no signed file', async (t) => {
    const { cloud, stranger, key, isActivated } = await createVictim(t);
    const answer = await handIn(cloud, stranger.request({ licenseKey: key }));
    assert.equal(answer.status, 400);
    const other = cloud.grant({ slots: 5 });
    const free = await handIn(cloud, stranger.request({ licenseKey: other }));
    assert.equal(free.status, 400, 'nor with the key of another license, which has a free activation');
    assert.ok(await isActivated());
  });

  test('claiming a hardware id before its server comes opens nothing of that server', async (t) => {
    const portal = createTestPortal(t);
    const { cloud, key, shelf, licenseId } = portal;
    const stranger = createCarriedServer('honest');
    const own = cloud.grant({ slots: 1 });
    assert.equal((await handIn(cloud, stranger.request({ licenseKey: own }))).status, 200);
    const code = createCarriedServer('honest').activationCode(key, portal.start());
    given(portal.confirm({ hardwareId: 'honest', activationCode: code }));
    const usage = stranger.usageContent(told(licenseId, key, 900));
    for (const file of [
      stranger.request({ request: 'deactivation', licenseKey: key, usage }),
      stranger.usage(told(licenseId, key, 900)),
      stranger.request({ licenseKey: key }),
    ]) {
      assert.equal((await handIn(cloud, file)).status, 400);
    }
    assert.equal(loadTotals(shelf, given(getLicense(shelf, key)), cloud.now).get(''), 0);
  });

  test('a given back machine id cannot be claimed by another key', async (t) => {
    const portal = createTestPortal(t);
    const { cloud, key } = portal;
    const honest = createCarriedServer('honest');
    for (const request of ['activation', 'deactivation'] as const) {
      assert.equal((await handIn(cloud, honest.request({ request, licenseKey: key }))).status, 200);
    }
    assert.equal(
      (await handIn(cloud, createCarriedServer('honest').request({ licenseKey: key }))).status,
      400,
    );
    assert.equal((await handIn(cloud, honest.request({ licenseKey: key }))).status, 200);
  });

  test('a key that waits behind another does not slip in under its approval', async (t) => {
    const victim = await createVictim(t);
    const { cloud, stranger, key, shelf, approve } = victim;
    const honest = createCarriedServer('honest');
    const file = honest.usage(told(victim.licenseId, key, 3));
    await handIn(cloud, file);
    for (const forger of [stranger, createCarriedServer('honest')]) {
      await handIn(cloud, forger.usage(victim.forged));
    }
    given(approve(honest));
    assert.deepEqual(listWaitingKeys(shelf, null), []);
    assert.equal((await handIn(cloud, stranger.usage(victim.forged))).status, 400);
    assert.equal(refused(approve(stranger)), 'device_not_found');
    assert.equal((await handIn(cloud, file)).status, 200);
    assert.equal(victim.total(), 3);
  });
});
