import { pickValues } from '../../engine/row-sql.ts';
import { columnsOf, quoteNames, TABLE_NAMES, type TableName } from '../../engine/tables.ts';
import type { CopiedRow, RowCounts } from '../../store-copy.ts';
import type { Ask } from '../wire/ask.ts';
import { type Sql, typeOf } from '../write/bulk-writes.ts';

export async function countRows(ask: Ask): Promise<RowCounts> {
  const columns = TABLE_NAMES.map((table) => `(SELECT count(*) FROM ${table}) AS ${table}`);
  const [counts] = await ask<RowCounts>(`SELECT ${columns.join(', ')}`);
  return counts ?? {};
}

/** The newest link of the system's chain. */
export async function readHead(ask: Ask): Promise<string> {
  const text = "SELECT audit_n || ' ' || encode(audit_mac, 'hex') AS head FROM server";
  const [row] = await ask<{ readonly head: string }>(text);
  return row?.head ?? '';
}

/** The latest time that was ever used, wherever it stands. */
const MARK = '(SELECT greatest(server.mark, server.alive_at, max(license.mark)) FROM license) AS mark';

/**
 * Reads the columns of a table that both stores have. Links come in the order in which they are read; the
 * newest of a running server may have no number yet.
 */
export function readTable(table: TableName): string {
  const columns = columnsOf(table).map((name) =>
    table === 'server' && name === 'mark' ? MARK : quoteNames([name]),
  );
  return `SELECT ${columns.join(', ')} FROM ${table} ${table === 'audit_link' ? 'ORDER BY seq, id' : ''}`;
}

/** All rows with one statement: a list for each column. */
export function insertRows(table: TableName, rows: readonly CopiedRow[]): Sql {
  const columns = columnsOf(table);
  const lists = columns.map((name, index) => `$${index + 1}::${typeOf(table, name)}[]`);
  return {
    text: `INSERT INTO ${table} (${quoteNames(columns)}) SELECT * FROM unnest(${lists.join(', ')})`,
    values: columns.map((name) => rows.flatMap((row) => pickValues(row, [name]))),
  };
}
