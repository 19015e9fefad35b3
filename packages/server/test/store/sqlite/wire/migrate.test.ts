import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import {
  describeSqliteTable,
  expectedTable,
  listSqliteNames,
} from '../../../../../../test/support/stores/schema.ts';
import { TABLE_NAMES } from '../../../../src/store/engine/tables.ts';
import { openWritable } from '../../../../src/store/sqlite/wire/database.ts';

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-migrate-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe('the schema', () => {
  test('has the tables, columns and keys that are described', (t) => {
    const db = openWritable(join(makeFolder(t), 'berth.db'));
    t.after(() => db.close());
    assert.deepEqual(listSqliteNames(db, 'table'), [...TABLE_NAMES, 'renewal'].sort());
    for (const table of TABLE_NAMES) {
      assert.deepEqual(describeSqliteTable(db, table), expectedTable(table, 'sqlite'), table);
    }
  });
});
