import type { DatabaseSync } from 'node:sqlite';
import { COPIED_TABLE_NAMES } from '../../engine/copied-tables.ts';
import type { RowCounts } from '../../store-copy.ts';

/** The newest link of the system's chain. */
export function readHead(db: DatabaseSync): string {
  const row = db.prepare("SELECT audit_n || ' ' || lower(hex(audit_mac)) AS head FROM server").get();
  return row?.head as string;
}

export function countRows(db: DatabaseSync): RowCounts {
  const count = (table: string) => db.prepare(`SELECT count(*) AS count FROM "${table}"`).get()?.count;
  return Object.fromEntries(COPIED_TABLE_NAMES.map((table) => [table, count(table) as number]));
}
