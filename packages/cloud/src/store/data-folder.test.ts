import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { type ReadRequest, readOfflineRequest } from '@berth/protocol/offline-request';
import { readPublicKey } from '@berth/protocol/vendor-signature';
import { createCarriedServer } from '../../../../test/support/carried-server.ts';
import { cloudFolder } from '../../../../test/support/test-cloud.ts';
import { given, refused } from '../../../../test/support/test-portal.ts';
import { hasData, openDataFolder } from './data-folder.ts';
import { createAirgapKey, exportPublicKey } from './key-files.ts';
import { answerDeactivation } from './offline-requests.ts';

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

describe('the data folder', () => {
  test('is made for its owner alone, with a key of its own', (t) => {
    const path = join(cloudFolder(t), 'new');
    assert.ok(!hasData(path));
    const folder = openDataFolder(path);
    t.after(() => folder.close());
    assert.ok(hasData(path));
    assert.equal(modeOf(path), 0o700);
    for (const file of ['cloud.db', 'cloud.db-wal', 'signing-key.pem', 'airgap-key.pem']) {
      assert.equal(modeOf(join(path, file)), 0o600, file);
    }
    const key = readPublicKey(exportPublicKey(folder.signingKey));
    assert.equal(key.asymmetricKeyDetails?.modulusLength, 3072);
    assert.equal(folder.airgapKey.asymmetricKeyDetails?.namedCurve, 'prime256v1');
  });

  test('is open to several processes, with one key', (t) => {
    const path = cloudFolder(t);
    const [first, second] = [openDataFolder(path), openDataFolder(path)];
    t.after(() => {
      first.close();
      second.close();
    });
    assert.equal(exportPublicKey(first.signingKey), exportPublicKey(second.signingKey));
    assert.ok(first.airgapKey.equals(second.airgapKey));
  });

  test('waits for the disk at every commit', (t) => {
    const folder = openDataFolder(cloudFolder(t));
    t.after(() => folder.close());
    const read = (name: string) => Object.values(folder.shelf.db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    assert.deepEqual([read('journal_mode'), read('synchronous')], ['wal', 2]);
  });

  for (const file of ['signing-key.pem', 'airgap-key.pem']) {
    test(`is not opened without the key that servers trust: ${file}`, (t) => {
      const path = cloudFolder(t);
      openDataFolder(path).close();
      rmSync(join(path, file));
      assert.throws(() => openDataFolder(path), /(?:signing|air-gap) key .+ is missing/);
      assert.ok(!existsSync(join(path, file)), 'and none is made up');
    });
  }

  test('is not opened with another air-gap key', (t) => {
    const path = cloudFolder(t);
    openDataFolder(path).close();
    rmSync(join(path, 'airgap-key.pem'));
    createAirgapKey(join(path, 'airgap-key.pem'));
    assert.throws(() => openDataFolder(path), /is another air-gap key/);
  });

  test('that is older than the air gap gets a key for it, and keeps what it has', (t) => {
    const path = cloudFolder(t);
    const db = new DatabaseSync(join(path, 'cloud.db'));
    db.exec(readFileSync(new URL('./migrations/0001-cloud.sql', import.meta.url), 'utf8'));
    db.exec(`INSERT INTO cloud (id, next_id) VALUES (1, 4711);
      PRAGMA user_version = 1; PRAGMA application_id = 0x42434c44`);
    db.close();
    const folder = openDataFolder(path);
    assert.equal(folder.shelf.sql.readNextId.get()?.next_id, 4711);
    const { airgapKey } = folder;
    folder.close();
    const again = openDataFolder(path);
    t.after(() => again.close());
    assert.ok(again.airgapKey.equals(airgapKey));
  });

  test('that is older than approved keys: the machines that are known stay known', (t) => {
    const path = cloudFolder(t);
    const db = new DatabaseSync(join(path, 'cloud.db'));
    for (const name of ['0001-cloud.sql', '0002-portal.sql']) {
      db.exec(readFileSync(new URL(`./migrations/${name}`, import.meta.url), 'utf8'));
    }
    const server = createCarriedServer('old');
    db.exec(`INSERT INTO cloud (id, next_id) VALUES (1, 4711);
      INSERT INTO server_key VALUES ('old', '${server.serverKey}', 1);
      INSERT INTO product VALUES (1, 'cad', 'cad', 'license-key', '{}', 1);
      INSERT INTO license VALUES (2, 'K-1', 1, NULL, NULL, 1, 1, 0, '{"features":[],"consumption":{}}', 1, 0);
      INSERT INTO device VALUES (3, 2, 'old', '{}', 1, 1), (4, 2, 'unknown', '{}', 1, 1);
      PRAGMA user_version = 2; PRAGMA application_id = 0x42434c44`);
    db.close();
    const { shelf, close } = openDataFolder(path);
    t.after(close);
    const back = (one: typeof server) => {
      const request = readOfflineRequest(one.request({ request: 'deactivation', licenseKey: 'K-1' }));
      return answerDeactivation(shelf, { request: request as ReadRequest, key: null, from: null }, 5);
    };
    assert.equal(refused(back(createCarriedServer('unknown'))), 'server_key_not_approved');
    assert.equal(refused(back(createCarriedServer('old'))), 'signature_mismatch');
    given(back(server));
  });

  for (const [title, sql, sentence] of [
    ['of somebody else', 'CREATE TABLE a (b)', /was not written by this cloud/],
    ['of a newer cloud', 'PRAGMA application_id = 0x42434c44; PRAGMA user_version = 99', /newer cloud/],
  ] as const) {
    test(`a database ${title} is left alone`, (t) => {
      const path = cloudFolder(t);
      const db = new DatabaseSync(join(path, 'cloud.db'));
      db.exec(sql);
      db.close();
      assert.throws(() => openDataFolder(path), sentence);
    });
  }
});
