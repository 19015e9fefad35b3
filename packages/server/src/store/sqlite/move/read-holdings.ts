import type { DatabaseSync } from 'node:sqlite';
import { HOLDINGS_SQL } from '../../engine/holdings.ts';
import type { RowOf } from '../../engine/tables.ts';
import type { Holdings } from '../../store-copy.ts';
import { openReadOnly } from '../wire/database.ts';
import { findRow, listRows } from '../wire/read-rows.ts';

/** `null`: it cannot be read, because it is damaged, too old or something else. */
export function findHoldings(file: string): Holdings | null {
  try {
    const db = openReadOnly(file);
    try {
      return readHoldings(db);
    } finally {
      db.close();
    }
  } catch {
    return null;
  }
}

export function readHoldings(db: DatabaseSync): Holdings {
  const server = findRow<RowOf<'server'>>(db, 'SELECT identity, mark FROM server');
  return {
    identity: server?.identity ?? '',
    mark: server?.mark ?? null,
    licenses: listRows(db, HOLDINGS_SQL.licenses),
    removed: listRows(db, HOLDINGS_SQL.removed),
    borrows: listRows(db, HOLDINGS_SQL.borrows),
    totals: listRows(db, HOLDINGS_SQL.totals),
  };
}
