import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { addToRow } from '../../../../src/store/engine/history/history-sql.ts';
import { BulkInsert } from '../../../../src/store/sqlite/write/bulk-insert.ts';

const COLUMNS = ['license_id', 'feature', 'at', 'amount'];

test('any number of rows is inserted, and each is added to the one with its key', () => {
  const db = new DatabaseSync(':memory:');
  db.exec(
    `CREATE TABLE history_consumption (license_id, feature, at, amount,
      PRIMARY KEY (license_id, feature, at))`,
  );
  const insert = new BulkInsert(db, 'history_consumption', COLUMNS, addToRow('history_consumption'));
  const sums = new Map<number, number>();
  for (const count of [0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 43, 75]) {
    const rows = Array.from({ length: count }, (_, index) => [index, '', 0, count * 100 + index]);
    insert.run(rows.flat());
    for (const [index, , , amount] of rows as [number, string, number, number][])
      sums.set(index, (sums.get(index) ?? 0) + amount);
  }
  const stored = db.prepare('SELECT license_id, amount FROM history_consumption ORDER BY license_id').all();
  assert.deepEqual(
    stored.map(({ license_id, amount }) => [license_id, amount]),
    [...sums],
  );
  db.close();
});
