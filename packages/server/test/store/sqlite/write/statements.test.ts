import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { migrate } from '../../../../src/store/sqlite/wire/migrate.ts';
import { prepare } from '../../../../src/store/sqlite/wire/read-rows.ts';
import { prepareStatements } from '../../../../src/store/sqlite/write/statements.ts';

test('every statement of the writer fits the schema, also those that are seldom used', (t) => {
  const db = new DatabaseSync(':memory:');
  t.after(() => db.close());
  migrate(db);
  prepareStatements(db, {}, prepare);
});
