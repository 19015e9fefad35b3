import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { SCHEMA_VERSION } from '../../../../src/store/engine/migrations.ts';
import { openReadOnly, openWritable } from '../../../../src/store/sqlite/wire/database.ts';
import { readPragma } from '../../../../src/store/sqlite/wire/read-rows.ts';

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-database-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe('the connection that writes', () => {
  test('syncs every commit, and has verified that setting', (t) => {
    const db = openWritable(join(makeFolder(t), 'berth.db'));
    assert.equal(readPragma(db, 'journal_mode'), 'wal');
    assert.equal(readPragma(db, 'synchronous'), 2);
    assert.equal(readPragma(db, 'user_version'), SCHEMA_VERSION);
    db.close();
  });

  test('is refused if the file system supports no write-ahead log', () => {
    assert.throws(() => openWritable(':memory:'), /journal_mode = WAL.+local file system/);
  });

  test('finds what the last one left', (t) => {
    const file = join(makeFolder(t), 'berth.db');
    const identity = () => {
      const db = openWritable(file);
      const row = db.prepare('SELECT identity FROM server').get();
      db.close();
      return row?.identity;
    };
    const first = identity();
    assert.match(String(first), /^[0-9a-f]{32}$/);
    assert.equal(identity(), first);
  });
});

test('the connection that reads cannot write', (t) => {
  const file = join(makeFolder(t), 'berth.db');
  openWritable(file).close();
  const db = openReadOnly(file);
  assert.throws(() => db.exec('DELETE FROM server'), /readonly/);
  db.close();
});

describe('files that are not ours are refused and left alone', () => {
  const foreign: [string, (file: string) => void][] = [
    [
      'the database of another program',
      (file) => {
        const db = new DatabaseSync(file);
        db.exec('CREATE TABLE license (a); INSERT INTO license VALUES (1)');
        db.close();
      },
    ],
    [
      'an empty database with its own version',
      (file) => {
        const db = new DatabaseSync(file);
        db.exec('PRAGMA user_version = 5');
        db.close();
      },
    ],
    ['a file that is not a database', (file) => writeFileSync(file, 'to whom it may concern\n'.repeat(100))],
  ];
  for (const [title, make] of foreign) {
    test(title, (t) => {
      const folder = makeFolder(t);
      const file = join(folder, 'berth.db');
      make(file);
      const before = readFileSync(file);
      assert.throws(() => openWritable(file), /was not written by Berth|not a database/);
      assert.deepEqual(readFileSync(file), before);
      assert.deepEqual(readdirSync(folder), ['berth.db']);
    });
  }
});
