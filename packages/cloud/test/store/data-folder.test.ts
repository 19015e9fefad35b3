import assert from 'node:assert/strict';
import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { readPublicKey } from '@berth/protocol/cloud/vendor-signature';
import { cloudFolder } from '../../../../test/support/cloud/test-cloud.ts';
import { transact } from '../../src/store/cloud-store.ts';
import { hasData, openDataFolder } from '../../src/store/data-folder.ts';
import { createAirgapKey, exportPublicKeys } from '../../src/store/keys/key-files.ts';

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

describe('the data folder', () => {
  test('is created for its owner only, with its own key', (t) => {
    const path = join(cloudFolder(t), 'new');
    assert.ok(!hasData(path));
    const folder = openDataFolder(path);
    t.after(() => folder.close());
    assert.ok(hasData(path));
    assert.equal(modeOf(path), 0o700);
    for (const file of ['cloud.db', 'cloud.db-wal', 'signing-key.pem', 'airgap-key.pem']) {
      assert.equal(modeOf(join(path, file)), 0o600, file);
    }
    const key = readPublicKey(exportPublicKeys(folder.keyRing.read().all));
    assert.equal(key.asymmetricKeyDetails?.modulusLength, 3072);
    assert.equal(folder.airgapKey.asymmetricKeyDetails?.namedCurve, 'prime256v1');
  });

  test('can be opened by several processes, with one key', (t) => {
    const path = cloudFolder(t);
    const [first, second] = [openDataFolder(path), openDataFolder(path)];
    t.after(() => {
      first.close();
      second.close();
    });
    assert.equal(exportPublicKeys(first.keyRing.read().all), exportPublicKeys(second.keyRing.read().all));
    assert.ok(first.airgapKey.equals(second.airgapKey));
  });

  test('syncs the disk at every commit', (t) => {
    const folder = openDataFolder(cloudFolder(t));
    t.after(() => folder.close());
    const read = (name: string) => Object.values(folder.store.db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
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
    assert.throws(() => openDataFolder(path), /is a different air-gap key/);
  });

  for (const [title, sql, sentence] of [
    ['of another program', 'CREATE TABLE a (b)', /was not written by this cloud/],
    [
      'of a newer cloud',
      'PRAGMA application_id = 0x42434c44; PRAGMA user_version = 99',
      /newer cloud .*Start the newer version/,
    ],
  ] as const) {
    test(`a database ${title} is left alone`, (t) => {
      const path = cloudFolder(t);
      const db = new DatabaseSync(join(path, 'cloud.db'));
      db.exec(sql);
      db.close();
      assert.throws(() => openDataFolder(path), sentence);
    });
  }

  test('that a newer command line migrates takes no more changes', (t) => {
    const path = cloudFolder(t);
    const { store, close } = openDataFolder(path);
    t.after(close);
    const newer = new DatabaseSync(join(path, 'cloud.db'));
    newer.exec('PRAGMA user_version = 99');
    newer.close();
    assert.throws(() => transact(store, () => assert.fail('It works on it.')), /written by a newer cloud/);
    assert.ok(!store.db.isTransaction);
  });
});
