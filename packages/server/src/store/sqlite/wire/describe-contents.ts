import type { DatabaseSync } from 'node:sqlite';
import { type Count, countOf } from '../../engine/sql.ts';
import { TABLE_NAMES } from '../../engine/tables.ts';
import type { RowCounts } from '../../store-copy.ts';
import { findRow } from './read-rows.ts';

/** The newest link of the system's chain. */
export function readHead(db: DatabaseSync): string {
  const sql = "SELECT audit_n || ' ' || lower(hex(audit_mac)) AS head FROM server";
  return findRow<{ readonly head: string }>(db, sql)?.head ?? '';
}

export function countRows(db: DatabaseSync): RowCounts {
  const count = (table: string) => countOf(findRow<Count>(db, `SELECT count(*) AS count FROM ${table}`));
  return Object.fromEntries(TABLE_NAMES.map((table) => [table, count(table)]));
}
