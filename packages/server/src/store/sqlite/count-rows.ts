import type { DatabaseSync } from 'node:sqlite';
import { COPIED_TABLE_NAMES } from '../engine/copied-tables.ts';
import type { RowCounts } from '../store-copy.ts';

export function countRows(db: DatabaseSync): RowCounts {
  const count = (table: string) => db.prepare(`SELECT count(*) AS count FROM "${table}"`).get()?.count;
  return Object.fromEntries(COPIED_TABLE_NAMES.map((table) => [table, count(table) as number]));
}
