import type { DatabaseSync } from 'node:sqlite';
import {
  LIST_SPELLINGS,
  type NameTable,
  planRespelling,
  type Respelling,
  TO_FOLDED_NAMES,
  toSpelledNames,
} from '../../engine/respell-users.ts';
import type { Row, RowValue } from '../../engine/rows.ts';

/** Names users in another way, within a transaction that was begun before. */
export function respellUsers(db: DatabaseSync, respelling: Respelling): void {
  for (const table of respelling.tables) respellTable(db, table, respelling);
}

function respellTable(db: DatabaseSync, table: NameTable, respelling: Respelling): void {
  const users = db.prepare(`SELECT DISTINCT user FROM ${table.name}`).all();
  const involved = respelling.listInvolved(users.map(({ user }) => user as string));
  if (involved.length === 0) return;
  const rows = db
    .prepare(`SELECT * FROM ${table.name} WHERE user IN (SELECT value FROM json_each(?))`)
    .all(JSON.stringify(involved)) as Row[];
  const { removed, added } = planRespelling(table, rows, respelling);
  const matches = table.key.map((column) => `"${column}" = ?`);
  const remove = db.prepare(`DELETE FROM ${table.name} WHERE ${matches.join(' AND ')}`);
  for (const row of removed) remove.run(...table.key.map((column) => row[column] as RowValue));
  const columns = Object.keys(rows[0] as Row);
  const names = columns.map((column) => `"${column}"`);
  const add = db.prepare(`INSERT INTO ${table.name} (${names}) VALUES (${columns.map(() => '?')})`);
  for (const row of added) add.run(...columns.map((column) => row[column] as RowValue));
}

/** Makes the store ignore case, or stop ignoring it. Nothing is done when it is so already. */
export function setIgnoresCase(db: DatabaseSync, ignoresCase: boolean): void {
  const server = db.prepare('SELECT ignores_case FROM server').get();
  if ((server?.ignores_case === 1) === ignoresCase) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    if (ignoresCase) respellUsers(db, TO_FOLDED_NAMES);
    else respellUsers(db, toSpelledNames(db.prepare(LIST_SPELLINGS).all() as Row[]));
    db.prepare('UPDATE server SET ignores_case = ?').run(ignoresCase ? 1 : 0);
    db.exec('COMMIT');
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}
