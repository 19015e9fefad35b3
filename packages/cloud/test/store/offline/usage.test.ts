import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { createCarriedServer } from '../../../../../test/support/cloud/carried-server.ts';
import { createTestPortal, given, refused, told } from '../../../../../test/support/cloud/test-portal.ts';
import type { TermsChange } from '../../../src/core/change-terms.ts';
import { parseFeatureSpec } from '../../../src/core/feature-spec.ts';
import { blockDevice } from '../../../src/store/devices.ts';
import { listEvents } from '../../../src/store/events.ts';
import { loadTotals } from '../../../src/store/execute.ts';
import { changeLicense, getLicense, resetLicense, setLicenseEnabled } from '../../../src/store/licenses.ts';

/** A consumption license, activated by file on one machine. */
function createCounting(t: TestContext, terms: TermsChange = {}) {
  const features = ['export,consumptions=5', 'render,slots=2'].map(parseFeatureSpec);
  const portal = createTestPortal(t, { consumption: { max: 10 }, features, ...terms });
  const { key, licenseId, store, cloud } = portal;
  const server = createCarriedServer();
  given(portal.activate(server.request({ licenseKey: key })));
  const totals = () => {
    const all = loadTotals(store, given(getLicense(store, key)), cloud.now);
    return [all.get(''), all.get('export')];
  };
  const tell = (consumed: number, inFeatures: Record<string, number> = {}, more = {}) =>
    portal.usage(server.usage(told(licenseId, key, consumed, inFeatures), more));
  return { ...portal, server, totals, tell };
}

/** More amounts than a file may contain. */
const MANY = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`f${index}`, 0]));

describe('a usage file', () => {
  test('adds what is new, of the license and of its features', (t) => {
    const { tell, totals, key } = createCounting(t);
    const first = given(tell(4, { export: 2 }));
    assert.deepEqual(first.added, [
      { licenseKey: key, feature: null, amount: 4, total: 4 },
      { licenseKey: key, feature: 'export', amount: 2, total: 2 },
    ]);
    assert.deepEqual(given(tell(7, { export: 2 })).added, [
      { licenseKey: key, feature: null, amount: 3, total: 7 },
    ]);
    assert.deepEqual(totals(), [7, 2]);
    assert.deepEqual(given(tell(7, { export: 2 })).added, [], 'and nothing where nothing is');
  });

  test('makes up for lost ones', (t) => {
    const { tell, totals, server, licenseId, key } = createCounting(t);
    given(tell(1));
    for (const lost of [2, 3]) server.usage(told(licenseId, key, lost));
    given(tell(5));
    assert.deepEqual(totals(), [5, 0]);
  });

  test('counts once, however often it is submitted', (t) => {
    const counting = createCounting(t);
    const file = counting.server.usage(told(counting.licenseId, counting.key, 4));
    given(counting.usage(file));
    const before = counting.dump();
    for (let again = 0; again < 3; again++) {
      assert.deepEqual(given(counting.usage(file)), {
        hardwareId: 'machine-1',
        sequence: 1,
        isRepeat: true,
        added: [],
      });
    }
    assert.equal(counting.dump(), before);
    resetLicense(counting.store, counting.key, counting.cloud.now);
    assert.ok(given(counting.usage(file)).isRepeat, 'also when the machine has no license any more');
  });

  test('never goes back: neither an older number nor the same with other amounts', (t) => {
    const { tell, dump, totals } = createCounting(t);
    given(tell(4, {}, { sequence: 5 }));
    const before = dump();
    for (const [consumed, sequence] of [
      [9, 5],
      [9, 4],
      [9, 1],
      [4, 4],
    ] as const) {
      assert.equal(refused(tell(consumed, {}, { sequence })), 'usage_file_outdated', `${sequence}`);
    }
    assert.equal(dump(), before);
    given(tell(5, {}, { sequence: 6 }));
    assert.deepEqual(totals(), [5, 0]);
  });

  test('counts what has happened: beyond the maximum, disabled, expired, barred', (t) => {
    const { tell, totals, store, key, cloud } = createCounting(t);
    given(tell(25, { export: 9 }));
    setLicenseEnabled(store, key, false, cloud.now);
    blockDevice(store, 'machine-1', cloud.now);
    changeLicense(store, { key, user: null, terms: { validUntil: cloud.now } }, cloud.now);
    given(tell(30, { export: 9 }));
    assert.deepEqual(totals(), [30, 9]);
  });

  test('counts in the window in which it arrives', (t) => {
    const { tell, totals, cloud } = createCounting(t, { consumption: { max: 10, period: 'monthly' } });
    given(tell(4));
    cloud.now = Date.UTC(2026, 6, 1);
    assert.deepEqual(totals(), [0, 0]);
    given(tell(6));
    assert.deepEqual(totals(), [2, 0]);
  });

  test('takes back only if that is granted', (t) => {
    const strict = createCounting(t);
    given(strict.tell(4));
    const before = strict.dump();
    assert.equal(refused(strict.tell(3)), 'usage_file_invalid');
    assert.equal(strict.dump(), before);
    const lenient = createCounting(t, { consumption: { max: 10, allowNegative: true } });
    given(lenient.tell(4));
    given(lenient.tell(-2));
    assert.deepEqual(lenient.totals(), [-2, 0], 'also below what other servers have told');
  });

  test('is recorded', (t) => {
    const { tell, store } = createCounting(t);
    given(tell(4));
    const [taken, counted] = listEvents(store, null, 2);
    assert.deepEqual([taken?.kind, taken?.facts], ['usage_taken', { hardware_id: 'machine-1', sequence: 1 }]);
    assert.deepEqual([counted?.kind, counted?.facts.is_sync], ['consumption_added', true]);
  });
});

describe('a usage file is accepted as a whole or not at all', () => {
  test('one invalid amount rejects all of it', (t) => {
    const counting = createCounting(t);
    const { licenseId: id, key, server, cloud } = counting;
    const plain = cloud.grant({ slots: 1 });
    const plainId = given(getLicense(counting.store, plain)).id;
    given(counting.activate(server.request({ licenseKey: plain })));
    const before = counting.dump();
    for (const [code, ...licenses] of [
      ['license_not_found', ...told(id, key, 4), ...told(id + 999, 'K-NONE', 1)],
      ['license_not_found', ...told(id, key, 4), ...told(plainId + 1, plain, 1)],
      ['license_not_found', ...told(id + 999, key, 4)],
      ['license_not_found', ...told(id + 999, key, 0)],
      ['license_not_found'],
      ['usage_file_invalid', ...told(id, key, 4), ...told(id, key, 5)],
      ['usage_file_invalid', ...told(id, key, 4, MANY)],
    ] as const) {
      assert.equal(refused(counting.usage(server.usage(licenses))), code);
      assert.equal(counting.dump(), before, code);
    }
    given(
      counting.usage(
        server.usage([...told(id, key, 4, { render: 0, import: 0 }), ...told(plainId, plain, 0)]),
      ),
    );
    assert.deepEqual(counting.totals(), [4, 0], 'while nothing was told of them');
  });

  test('only for licenses that the machine has, if there is something new', (t) => {
    const { store, cloud, tell, licenseId, key, server, usage, activate, totals } = createCounting(t);
    given(tell(4));
    const other = cloud.grant({ slots: 1, consumption: { max: 9 } });
    const otherId = given(getLicense(store, other)).id;
    given(activate(server.request({ licenseKey: other })));
    resetLicense(store, key, cloud.now);
    const both = (first: number) =>
      server.usage([...told(licenseId, key, first), ...told(otherId, other, 3)]);
    assert.equal(refused(usage(both(5))), 'license_not_found');
    given(usage(both(4)));
    assert.deepEqual(totals(), [4, 0]);
  });
});

describe('the sender of a usage file', () => {
  test('cannot be another server if the machine is known', (t) => {
    const { licenseId, key, usage, dump } = createCounting(t);
    const stranger = createCarriedServer('machine-1');
    const before = dump();
    assert.equal(refused(usage(stranger.usage(told(licenseId, key, 9)))), 'usage_file_invalid');
    assert.equal(dump(), before);
  });

  test('waits for the vendor if the machine has no known key', async (t) => {
    const portal = createTestPortal(t);
    const { key, licenseId, cloud } = portal;
    await cloud.post('activate_license', { product: 'cad', license_key: key, hardware_id: 'online' });
    const [first, second] = [createCarriedServer('online'), createCarriedServer('online')];
    assert.equal(refused(portal.usage(first.usage([]))), 'license_not_found', 'if it knows the license');
    assert.equal(refused(portal.usage(first.usage(told(licenseId, 'K-X', 0)))), 'license_not_found');
    const file = first.usage(told(licenseId, key, 2));
    assert.equal(refused(portal.usage(file)), 'server_key_not_approved');
    assert.equal(refused(portal.usage(second.usage(told(licenseId, key, 9)))), 'server_key_not_approved');
    given(portal.approve(first));
    assert.deepEqual(given(portal.usage(file)).added, [
      { licenseKey: key, feature: null, amount: 2, total: 2 },
    ]);
    assert.equal(refused(portal.usage(second.usage(told(licenseId, key, 9)))), 'usage_file_invalid');
    given(portal.usage(first.usage(told(licenseId, key, 3))));
  });

  test('continues after its data moved to another machine', (t) => {
    const { server, key, licenseId, usage, activate, totals } = createCounting(t, { maxActivations: 2 });
    given(usage(server.usage(told(licenseId, key, 4))));
    given(activate(server.request({ licenseKey: key, hardwareId: 'machine-2' })));
    given(usage(server.usage(told(licenseId, key, 6), { hardware_id: 'machine-2' })));
    assert.deepEqual(totals(), [6, 0], 'nothing is counted twice');
  });

  test('may be one of several servers, which add up', (t) => {
    const { key, licenseId, usage, activate, totals, tell } = createCounting(t, { maxActivations: 2 });
    given(tell(4));
    const second = createCarriedServer('machine-2');
    given(activate(second.request({ licenseKey: key })));
    given(usage(second.usage(told(licenseId, key, 3))));
    given(tell(5));
    assert.deepEqual(totals(), [8, 0]);
  });
});
