import type { DatabaseSync } from 'node:sqlite';
import { bucketStart, type Instant, instant, MINUTE_MS } from '../../../core/nouns/instant.ts';
import { HISTORY_STATEMENTS } from '../../engine/history/history-sql.ts';
import {
  FORGET_COUNTS,
  LIST_SPELLINGS,
  type NameTable,
  planRespelling,
  type Respelling,
  TO_FOLDED_NAMES,
  toSpelledNames,
  type UserRow,
} from '../../engine/respell-users.ts';
import { pickValues, ROW_SQL } from '../../engine/row-sql.ts';
import { quoteNames, type RowOf, tableOf } from '../../engine/tables.ts';
import { findRow, listRows, prepare } from './read-rows.ts';

/** Renames users within the caller's transaction. */
function respellUsers(db: DatabaseSync, respelling: Respelling): void {
  for (const table of respelling.tables) respellTable(db, table, respelling);
}

function respellTable(db: DatabaseSync, table: NameTable, respelling: Respelling): void {
  const users = listRows<UserRow>(db, `SELECT DISTINCT user FROM ${table.name}`);
  const involved = respelling.listInvolved(users.map(({ user }) => user));
  if (involved.length === 0) return;
  const rows = listRows<UserRow>(
    db,
    `SELECT * FROM ${table.name} WHERE user IN (SELECT value FROM json_each(:involved))`,
    { involved: JSON.stringify(involved) },
  );
  const { removed, added } = planRespelling(table, rows, respelling);
  const remove = prepare(db, ROW_SQL[table.name].remove.sql);
  for (const row of removed) remove.run(...pickValues(row, tableOf(table.name).key));
  const columns = Object.keys(rows[0] ?? {});
  const places = columns.map(() => '?').join(', ');
  const add = db.prepare(`INSERT INTO ${table.name} (${quoteNames(columns)}) VALUES (${places})`);
  for (const row of added) add.run(...pickValues(row, columns));
}

/** Makes the store ignore case, or stop ignoring it, unless it does so already. */
export function setIgnoresCase(db: DatabaseSync, ignoresCase: boolean): void {
  const server = findRow<RowOf<'server'>>(db, 'SELECT ignores_case, mark FROM server');
  if ((server?.ignores_case === 1) === ignoresCase) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    if (ignoresCase) respellUsers(db, TO_FOLDED_NAMES);
    else respellUsers(db, toSpelledNames(listRows(db, LIST_SPELLINGS)));
    db.exec(FORGET_COUNTS);
    db.prepare('UPDATE server SET ignores_case = ?').run(ignoresCase ? 1 : 0);
    squareHistory(db, server?.mark ?? instant(0));
    db.exec('COMMIT');
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}

/** Slots were merged without a decision. */
function squareHistory(db: DatabaseSync, mark: Instant): void {
  const minute = bucketStart(mark, MINUTE_MS);
  prepare(db, HISTORY_STATEMENTS.squareSlotHistory.sql).run({ minute });
}
