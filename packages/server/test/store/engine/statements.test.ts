import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROW_SQL } from '../../../src/store/engine/row-sql.ts';
import { type Read, sqlFor, type Write } from '../../../src/store/engine/sql.ts';
import { STATEMENTS } from '../../../src/store/engine/statements.ts';
import { TABLE_NAMES, type TableName } from '../../../src/store/engine/tables.ts';

const DECLARED: Readonly<Record<string, Read | Write>> = {
  ...STATEMENTS,
  ...Object.fromEntries(
    Object.entries(ROW_SQL).flatMap(([table, sql]) =>
      Object.entries<Read | Write>(sql).map(([name, one]) => [`${table}.${name}`, one]),
    ),
  ),
};

/** Tables that an SQL text names where a table can stand. */
function listTables(text: string): readonly TableName[] {
  const named = [...text.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE)\s+(\w+)/g)].map(([, name]) => name);
  return TABLE_NAMES.filter((name) => named.includes(name));
}

// Both stores rely on it: which rows must be in the file, and which are no longer what was read.
test('every statement declares the tables that it reads and writes, on both databases', () => {
  assert.ok(Object.keys(DECLARED).length > 150);
  for (const [name, declared] of Object.entries(DECLARED)) {
    const writes = 'writes' in declared ? [declared.writes] : [];
    const tables = new Set([...declared.reads, ...writes]);
    for (const dialect of ['sqlite', 'postgres'] as const) {
      assert.deepEqual(new Set(listTables(sqlFor(dialect, declared.sql))), tables, name);
    }
  }
});
