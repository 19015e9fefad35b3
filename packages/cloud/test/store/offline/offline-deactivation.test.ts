import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { OfflineRequest } from '@berth/protocol/carried/offline-request';
import { createCarriedServer } from '../../../../../test/support/cloud/carried-server.ts';
import { createTestPortal, given, refused, told } from '../../../../../test/support/cloud/test-portal.ts';
import type { Refusal } from '../../../src/core/refusal.ts';
import { blockDevice, listDevices } from '../../../src/store/devices.ts';
import { loadTotals } from '../../../src/store/execute.ts';
import { getLicense, setLicenseEnabled } from '../../../src/store/licenses.ts';

/** A license on a machine that is about to deactivate it. */
function createActivated(t: TestContext) {
  const portal = createTestPortal(t);
  const { key, store, cloud } = portal;
  const server = createCarriedServer();
  given(portal.activate(server.request({ licenseKey: key })));
  const back = (wish: Partial<OfflineRequest> = {}, keys?: typeof cloud.keys) =>
    server.request({ request: 'deactivation', licenseKey: key, ...wish }, keys);
  const total = () => loadTotals(store, given(getLicense(store, key)), cloud.now).get('');
  return { ...portal, server, back, total };
}

describe('a license is returned by file', () => {
  test('and another machine can use it', (t) => {
    const { deactivate, activate, back, store, key } = createActivated(t);
    const other = createCarriedServer('machine-2');
    assert.equal(refused(activate(other.request({ licenseKey: key }))), 'license_activated_max_times');
    const { requestId: _, ...answer } = given(deactivate(back()));
    assert.deepEqual(answer, { licenseKey: key, product: 'cad', hardwareId: 'machine-1', usage: null });
    assert.deepEqual(listDevices(store, null), []);
    assert.equal(given(getLicense(store, key)).transferCount, 1);
    given(activate(other.request({ licenseKey: key })));
  });

  test('after its usage is counted', (t) => {
    const { deactivate, back, server, licenseId, key, usage, total } = createActivated(t);
    given(usage(server.usage(told(licenseId, key, 4))));
    const answer = given(deactivate(back({ usage: server.usageContent(told(licenseId, key, 12)) })));
    assert.deepEqual(answer.usage?.added, [{ licenseKey: key, feature: null, amount: 8, total: 12 }]);
    assert.equal(total(), 12);
  });

  test('even without usage to report', (t) => {
    const { deactivate, back, server } = createActivated(t);
    const answer = given(deactivate(back({ usage: server.usageContent([]) })));
    assert.deepEqual(answer.usage?.added, []);
  });

  test('once: the same file again changes nothing, and gets the same answer', (t) => {
    const { deactivate, activate, back, server, licenseId, key, dump } = createActivated(t);
    const file = back({ usage: server.usageContent(told(licenseId, key, 5)) });
    const first = given(deactivate(file));
    given(activate(server.request({ licenseKey: key })));
    const before = dump();
    assert.deepEqual(given(deactivate(file)), first);
    assert.equal(dump(), before, 'it keeps the license that it got since');
    assert.equal(first.usage?.added[0]?.amount, 5);
  });

  test('and later usage is counted from there', (t) => {
    const { deactivate, activate, back, server, licenseId, key, usage, total } = createActivated(t);
    given(deactivate(back({ usage: server.usageContent(told(licenseId, key, 5)) })));
    given(activate(server.request({ licenseKey: key })));
    given(usage(server.usage(told(licenseId, key, 6))));
    assert.equal(total(), 6);
  });

  test('even if it is disabled or the machine is barred', (t) => {
    const { deactivate, back, store, key, cloud } = createActivated(t);
    setLicenseEnabled(store, key, false, cloud.now);
    blockDevice(store, 'machine-1', cloud.now);
    given(deactivate(back()));
  });

  test('with the cloud keys, too', (t) => {
    const { deactivate, back, cloud } = createActivated(t);
    given(deactivate(back({}, cloud.keys)));
  });
});

describe('it stays activated', () => {
  test('when the request is invalid; nothing is counted either', (t) => {
    const { deactivate, back, server, licenseId, key, dump, cloud, usage } = createActivated(t);
    given(usage(server.usage(told(licenseId, key, 4))));
    const stranger = createCarriedServer('machine-1');
    const content = server.usageContent(told(licenseId, key, 6));
    const before = dump();
    const attempt = (code: string, file: string) => {
      assert.equal(refused(deactivate(file)), code);
      assert.equal(dump(), before, code);
    };
    attempt('signature_mismatch', stranger.request({ request: 'deactivation', licenseKey: key }));
    attempt('signature_mismatch', back({}, { ...cloud.keys, sharedKey: 'wrong' }));
    attempt('invalid_api_key', back({}, { ...cloud.keys, apiKey: 'nobody' }));
    attempt('usage_file_invalid', back({ usage: 'all of it' }));
    attempt('usage_file_invalid', back({ usage: { ...content, sequence: 0 } }));
    attempt('usage_file_invalid', back({ usage: { ...content, hardware_id: 'machine-2' } }));
    attempt('usage_file_invalid', back({ usage: { ...content, server_key: stranger.serverKey } }));
    attempt('usage_file_invalid', back({ usage: { ...content, licenses: told(licenseId, key, 3) } }));
    attempt('license_not_found', back({ licenseKey: 'K-NONE', usage: content }));
    const { message } = deactivate(back({ usage: { ...content, schema_version: 2 } })) as Refusal;
    assert.match(message, /made by a newer Berth than this cloud/);
    given(deactivate(back({ usage: content })));
  });

  test('unless a newer usage file came first: that one has reported everything', (t) => {
    const { deactivate, back, server, licenseId, key, usage, store, total } = createActivated(t);
    const older = back({ usage: server.usageContent(told(licenseId, key, 4)) });
    given(usage(server.usage(told(licenseId, key, 6))));
    assert.equal(given(deactivate(older)).usage, null);
    assert.deepEqual([total(), listDevices(store, null)], [6, []]);
  });

  test('a machine without the license cannot return it', (t) => {
    const { deactivate, back, dump } = createActivated(t);
    given(deactivate(back()));
    const before = dump();
    assert.equal(refused(deactivate(back())), 'license_not_found');
    const other = createCarriedServer('machine-2');
    assert.equal(
      refused(deactivate(other.request({ request: 'deactivation' }), 'K-NONE')),
      'license_not_found',
    );
    assert.equal(dump(), before);
  });
});
