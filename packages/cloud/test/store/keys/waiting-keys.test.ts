import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { publicKeyFingerprint } from '@berth/protocol/cloud/server-key';
import { type CarriedServer, createCarriedServer } from '../../../../../test/support/cloud/carried-server.ts';
import { createTestPortal, given, refused, told } from '../../../../../test/support/cloud/test-portal.ts';
import { WAITING } from '../../../src/core/judge-request.ts';
import { isRefusal } from '../../../src/core/refusal.ts';
import { listEvents } from '../../../src/store/events.ts';
import { approveKey, listWaitingKeys } from '../../../src/store/keys/waiting-keys.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** A license on a machine that was activated online, so no key is known for it. */
async function createOnline(t: TestContext) {
  const portal = createTestPortal(t);
  const { cloud, key, store, licenseId } = portal;
  await cloud.post('activate_license', { product: 'cad', license_key: key, hardware_id: 'online' });
  return {
    ...portal,
    handIn: (server: CarriedServer, from: string | null) =>
      portal.usage(server.usage(told(licenseId, key, 1)), from),
    waiting: () => listWaitingKeys(store, null),
  };
}

const fingerprintOf = ({ serverKey }: CarriedServer) => publicKeyFingerprint(serverKey);

describe('a waiting key', () => {
  test('is reported to whoever submitted the file, and shown to the vendor, once', async (t) => {
    const { handIn, waiting, store, key, cloud } = await createOnline(t);
    const server = createCarriedServer('online');
    const answer = handIn(server, '192.0.2.1');
    assert.ok(isRefusal(answer));
    const fingerprint = fingerprintOf(server);
    assert.deepEqual(answer.details, { hardware_id: 'online', fingerprint });
    assert.ok(answer.message.includes(fingerprint) && answer.message.includes('cloud device approve'));
    handIn(server, '192.0.2.9');
    const came = { grantKey: null, asks: 'usage', licenseKeys: key, from: '192.0.2.1', cameAt: cloud.now };
    assert.deepEqual(waiting(), [{ hardwareId: 'online', fingerprint, ...came }]);
    const events = listEvents(store, null, 100).filter(({ kind }) => kind === 'server_key_waits');
    assert.deepEqual(
      events.map(({ facts }) => facts),
      [{ hardware_id: 'online', fingerprint, asks: 'usage' }],
    );
  });

  test('counts once it is approved, and the others are removed', async (t) => {
    const { handIn, waiting, approve, store } = await createOnline(t);
    const [honest, stranger] = [createCarriedServer('online'), createCarriedServer('online')];
    for (const server of [stranger, honest]) handIn(server, null);
    given(approve(honest));
    assert.deepEqual(waiting(), []);
    given(handIn(honest, null));
    assert.equal(refused(handIn(stranger, null)), 'usage_file_invalid');
    const [event] = listEvents(store, null, 100).filter(({ kind }) => kind === 'server_key_approved');
    assert.deepEqual(event?.facts, {
      hardware_id: 'online',
      fingerprint: fingerprintOf(honest),
      grant_keys: [],
    });
  });

  test('is approved only by its own fingerprint, or by enough of it', async (t) => {
    const { handIn, store, cloud, dump } = await createOnline(t);
    const server = createCarriedServer('online');
    handIn(server, null);
    const before = dump();
    const fingerprint = fingerprintOf(server);
    const approve = (typed: string, machine = 'online') => approveKey(store, machine, typed, cloud.now);
    for (const typed of ['', fingerprint.slice(0, 15), `${fingerprint}0`, 'x'.repeat(64), '%']) {
      assert.equal(refused(approve(typed)), 'validation_error', typed);
    }
    for (const other of ['0'.repeat(64), fingerprintOf(createCarriedServer('online'))]) {
      assert.equal(refused(approve(other)), 'device_not_found');
    }
    assert.equal(refused(approve(fingerprint, 'another')), 'device_not_found');
    assert.equal(dump(), before);
    given(approve(fingerprint.slice(0, 16).toUpperCase()));
  });

  test('does not wait for ever', async (t) => {
    const { handIn, waiting, cloud } = await createOnline(t);
    handIn(createCarriedServer('online'), '192.0.2.1');
    cloud.now += WAITING.days * DAY_MS + 1;
    const next = createCarriedServer('online');
    handIn(next, '192.0.2.2');
    assert.deepEqual(
      waiting().map(({ fingerprint }) => fingerprint),
      [fingerprintOf(next)],
    );
  });
});

describe('waiting keys are bounded', () => {
  test('an address has a few, a machine some more, and the first ones stay', async (t) => {
    const { handIn, waiting } = await createOnline(t);
    const honest = createCarriedServer('online');
    handIn(honest, '192.0.2.1');
    for (let count = 0; count < 3; count++) handIn(createCarriedServer('online'), '192.0.2.66');
    assert.equal(waiting().length, 1 + WAITING.perAddressAndMachine);
    for (let count = 0; count < 20; count++) handIn(createCarriedServer('online'), `198.51.100.${count}`);
    assert.equal(waiting().length, WAITING.perMachine);
    assert.ok(waiting().some(({ fingerprint }) => fingerprint === fingerprintOf(honest)));
    const late = handIn(createCarriedServer('online'), '203.0.113.1');
    assert.ok(isRefusal(late) && late.message.includes('Send the file to the vendor'));
  });

  test("the vendor always has room, and the vendor's keys are kept longest", async (t) => {
    const { handIn, waiting } = await createOnline(t);
    for (let count = 0; count < 20; count++) handIn(createCarriedServer('online'), `198.51.100.${count}`);
    const mailed = [createCarriedServer('online'), createCarriedServer('online')];
    for (const server of mailed) handIn(server, null);
    const there = waiting().map(({ fingerprint }) => fingerprint);
    assert.equal(there.length, WAITING.perMachine);
    for (const server of mailed) assert.ok(there.includes(fingerprintOf(server)));
  });

  test('none waits for an unknown machine', async (t) => {
    const { usage, deactivate, licenseId, key, waiting } = await createOnline(t);
    const other = createCarriedServer('elsewhere');
    refused(usage(other.usage(told(licenseId, key, 1))));
    refused(deactivate(other.request({ request: 'deactivation', licenseKey: key })));
    refused(usage(createCarriedServer('online').usage(told(licenseId, 'K-NONE', 1))));
    assert.deepEqual(waiting(), []);
  });
});
