import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { type ReadRequest, readOfflineRequest } from '@berth/protocol/carried/offline-request';
import { type ReadUsage, readUsageFile } from '@berth/protocol/carried/usage-file';
import { publicKeyFingerprint } from '@berth/protocol/cloud/server-key';
import { type CarriedServer, createCarriedServer } from '../../../../../test/support/cloud/carried-server.ts';
import { cloudFolder } from '../../../../../test/support/cloud/test-cloud.ts';
import { given, refused, told } from '../../../../../test/support/cloud/test-portal.ts';
import { NO_CONSUMPTION } from '../../core/terms.ts';
import { createFileWriter } from '../../http/portal/write-files.ts';
import { openDataFolder } from '../data-folder.ts';
import { answerActivation, answerDeactivation } from '../offline/offline-requests.ts';
import { takeUsage } from '../offline/usage.ts';
import { listServerKeys } from './server-keys.ts';
import { approveKey } from './waiting-keys.ts';

const LICENSE = 2;
const KEY = 'K-1';
const TERMS = {
  ...{ type: 'perpetual', startsAt: null, validUntil: null, graceHours: 0, company: null },
  lending: { slots: 5, timeoutMinutes: 60, borrowHours: 0 },
  ...{ maxActivations: null, consumption: { ...NO_CONSUMPTION, max: 1000 }, features: [], metadata: {} },
};
const NOW = 1_000_000;

/** Data from a release that accepted the first key of a machine. */
function createEarlierCloud(t: TestContext) {
  const path = cloudFolder(t);
  const db = new DatabaseSync(join(path, 'cloud.db'));
  for (const name of ['0001-cloud.sql', '0002-portal.sql']) {
    db.exec(readFileSync(new URL(`../migrations/${name}`, import.meta.url), 'utf8'));
  }
  const terms = JSON.stringify(TERMS);
  db.exec(`INSERT INTO cloud (id, next_id) VALUES (1, 4711);
    INSERT INTO product VALUES (1, 'cad', 'cad', 'license-key', '{}', 1);
    INSERT INTO license VALUES (${LICENSE}, '${KEY}', 1, NULL, NULL, 1, 1, 0, '${terms}', 1, 0);
    INSERT INTO license VALUES (3, 'K-2', 1, NULL, NULL, 1, 1, 0, '${terms}', 1, 0);
    PRAGMA user_version = 2; PRAGMA application_id = 0x42434c44`);
  let at = 0;
  const event = (kind: string, license: number | null, facts: object) =>
    db
      .prepare('INSERT INTO event (at, kind, license_id, facts) VALUES (?, ?, ?, ?)')
      .run(at, kind, license, JSON.stringify(facts));
  const touch = (hardware_id: string, license: number) => {
    const added = db
      .prepare('INSERT OR IGNORE INTO device VALUES (NULL, ?, ?, ?, ?, ?)')
      .run(license, hardware_id, '{}', at, at);
    event(added.changes === 1 ? 'device_activated' : 'device_refreshed', license, { hardware_id });
  };
  const learn = ({ hardwareId: hardware_id, serverKey }: CarriedServer) => {
    db.prepare('INSERT OR REPLACE INTO server_key VALUES (?, ?, ?)').run(hardware_id, serverKey, at);
    event('server_key_learned', null, { hardware_id, fingerprint: '0123456789ab' });
  };
  return {
    online(hardwareId: string, license = LICENSE) {
      at += 10;
      touch(hardwareId, license);
    },
    /** An activation by file; `isNew`: its key was not known yet. */
    file(server: CarriedServer, signed_by: 'server' | 'cloud-keys', isNew: boolean, license = LICENSE) {
      at += 10;
      if (isNew) learn(server);
      touch(server.hardwareId, license);
      const facts = { request: 'activation', request_id: `${at}`, hardware_id: server.hardwareId };
      event('request_answered', license, { ...facts, signed_by });
    },
    /** The first usage file of a machine. */
    usage(server: CarriedServer) {
      at += 10;
      event('usage_taken', null, { hardware_id: server.hardwareId, sequence: 1 });
      learn(server);
    },
    back(hardware_id: string) {
      at += 10;
      db.prepare('DELETE FROM device WHERE hardware_id = ?').run(hardware_id);
      event('device_deactivated', LICENSE, { hardware_id });
    },
    open() {
      db.close();
      return openUpgraded(t, path);
    },
  };
}

function openUpgraded(t: TestContext, path: string) {
  const { store, keyRing, close } = openDataFolder(path);
  t.after(close);
  const carried = (file: string) =>
    ({ request: readOfflineRequest(file) as ReadRequest, key: null, from: null }) as const;
  return {
    back: (server: CarriedServer) =>
      answerDeactivation(store, carried(server.request({ request: 'deactivation', licenseKey: KEY })), NOW),
    activate: (server: CarriedServer, licenseKey: string) =>
      answerActivation(
        store,
        carried(server.request({ licenseKey })),
        createFileWriter(keyRing.read(), NOW),
        NOW,
      ),
    usage(server: CarriedServer) {
      const read = readUsageFile(server.usage(told(LICENSE, KEY, 3))) as ReadUsage;
      return takeUsage(store, { ...read, from: null }, NOW);
    },
    approve: ({ hardwareId, serverKey }: CarriedServer) =>
      approveKey(store, hardwareId, publicKeyFingerprint(serverKey), NOW),
    known: () =>
      listServerKeys(store, null).map(({ fingerprint, isConfirmed }) => ({ fingerprint, isConfirmed })),
  };
}

const WAITS = 'server_key_not_approved';

describe('keys from before the vendor approved them', () => {
  for (const [title, plant] of [
    ['a usage file', (cloud, stranger) => cloud.usage(stranger)],
    ['a file that refreshes', (cloud, stranger) => cloud.file(stranger, 'server', true)],
    [
      'a usage file, and activated the license again',
      (cloud, stranger) => {
        cloud.usage(stranger);
        cloud.back('m');
        cloud.file(stranger, 'server', false);
      },
    ],
    [
      'an activation that the server repeated over the network',
      (cloud, stranger) => {
        cloud.back('m');
        cloud.file(stranger, 'server', true);
        cloud.online('m');
      },
    ],
    [
      'a usage file, before the cloud keys refreshed the license without naming a key',
      (cloud, stranger) => {
        cloud.usage(stranger);
        cloud.file(stranger, 'cloud-keys', false);
      },
    ],
  ] as [string, (cloud: ReturnType<typeof createEarlierCloud>, stranger: CarriedServer) => void][]) {
    test(`a key that a stranger planted by ${title} is valid for nothing`, (t) => {
      const earlier = createEarlierCloud(t);
      const [honest, stranger] = [createCarriedServer('m'), createCarriedServer('m')];
      earlier.online('m');
      plant(earlier, stranger);
      const cloud = earlier.open();
      assert.equal(refused(cloud.back(stranger)), WAITS);
      assert.equal(refused(cloud.usage(stranger)), WAITS);
      assert.equal(refused(cloud.activate(stranger, KEY)), WAITS);
      assert.equal(refused(cloud.activate(stranger, 'K-2')), WAITS);
      const planted = publicKeyFingerprint(stranger.serverKey);
      assert.deepEqual(cloud.known(), [{ fingerprint: planted, isConfirmed: false }]);
      assert.equal(refused(cloud.activate(honest, 'K-2')), WAITS);
      given(cloud.approve(honest));
      const fingerprint = publicKeyFingerprint(honest.serverKey);
      assert.deepEqual(cloud.known(), [{ fingerprint, isConfirmed: true }]);
      assert.equal(refused(cloud.back(stranger)), 'signature_mismatch');
      assert.equal(refused(cloud.approve(stranger)), 'device_not_found');
      given(cloud.usage(honest));
      given(cloud.back(honest));
    });
  }

  test('a known but unconfirmed key can be approved before its file arrives', (t) => {
    const earlier = createEarlierCloud(t);
    const server = createCarriedServer('m');
    earlier.online('m');
    earlier.usage(server);
    const cloud = earlier.open();
    assert.equal(given(cloud.approve(server)).waited, null);
    given(cloud.usage(server));
    assert.equal(refused(cloud.approve(server)), 'device_not_found', 'once');
  });

  test('a server that its own file activated continues, and others cannot act for it', (t) => {
    const earlier = createEarlierCloud(t);
    const server = createCarriedServer('m');
    earlier.file(server, 'server', true);
    earlier.file(server, 'server', false);
    const cloud = earlier.open();
    assert.equal(refused(cloud.back(createCarriedServer('m'))), 'signature_mismatch');
    given(cloud.usage(server));
    given(cloud.activate(server, 'K-2'));
    given(cloud.back(server));
  });

  test('a server confirmed by the cloud keys is valid for its whole machine', (t) => {
    const earlier = createEarlierCloud(t);
    const server = createCarriedServer('m');
    earlier.online('m');
    earlier.file(server, 'cloud-keys', true, 3);
    const cloud = earlier.open();
    assert.equal(refused(cloud.back(createCarriedServer('m'))), 'signature_mismatch');
    given(cloud.usage(server));
    given(cloud.back(server));
  });
});
