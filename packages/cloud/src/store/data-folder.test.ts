import assert from 'node:assert/strict';
import { existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { readPublicKey } from '@berth/protocol/vendor-signature';
import { cloudFolder } from '../../../../test/support/test-cloud.ts';
import { hasData, openDataFolder } from './data-folder.ts';
import { exportPublicKey } from './signing-key.ts';

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
    for (const file of ['cloud.db', 'cloud.db-wal', 'signing-key.pem']) {
      assert.equal(modeOf(join(path, file)), 0o600, file);
    }
    const key = readPublicKey(exportPublicKey(folder.signingKey));
    assert.equal(key.asymmetricKeyDetails?.modulusLength, 3072);
  });

  test('is open to several processes, with one key', (t) => {
    const path = cloudFolder(t);
    const [first, second] = [openDataFolder(path), openDataFolder(path)];
    t.after(() => {
      first.close();
      second.close();
    });
    assert.equal(exportPublicKey(first.signingKey), exportPublicKey(second.signingKey));
  });

  test('waits for the disk at every commit', (t) => {
    const folder = openDataFolder(cloudFolder(t));
    t.after(() => folder.close());
    const read = (name: string) => Object.values(folder.shelf.db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    assert.deepEqual([read('journal_mode'), read('synchronous')], ['wal', 2]);
  });

  test('is not opened without the key that servers trust', (t) => {
    const path = cloudFolder(t);
    openDataFolder(path).close();
    rmSync(join(path, 'signing-key.pem'));
    assert.throws(() => openDataFolder(path), /signing key .+ is missing/);
    assert.ok(!existsSync(join(path, 'signing-key.pem')), 'and none is made up');
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
