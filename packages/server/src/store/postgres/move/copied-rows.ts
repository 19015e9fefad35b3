import { COPIED_TABLE_NAMES, type ColumnKind, columnsOf, quoteNames } from '../../engine/copied-tables.ts';
import type { CopiedRow, RowCounts } from '../../store-copy.ts';
import type { Ask } from '../wire/ask.ts';
import type { Sql } from '../write/bulk-writes.ts';

const TYPES: Readonly<Record<ColumnKind, string>> = { number: 'bigint', text: 'text', bytes: 'bytea' };

export async function countRows(ask: Ask): Promise<RowCounts> {
  const columns = COPIED_TABLE_NAMES.map((table) => `(SELECT count(*) FROM ${table}) AS ${table}`);
  const [counts] = await ask(`SELECT ${columns.join(', ')}`);
  return counts as RowCounts;
}

/** The newest link of the system's chain. */
export async function readHead(ask: Ask): Promise<string> {
  const [row] = await ask("SELECT audit_n || ' ' || encode(audit_mac, 'hex') AS head FROM server");
  return row?.head as string;
}

/** The latest time that was ever used, wherever it stands. */
const MARK = '(SELECT greatest(server.mark, server.alive_at, max(license.mark)) FROM license) AS mark';

/** Reads a table by its columns that all stores have. Links come in the order in which they are read. */
export function readTable(table: string): string {
  const columns = Object.keys(columnsOf(table)).map((name) =>
    table === 'server' && name === 'mark' ? MARK : quoteNames([name]),
  );
  return `SELECT ${columns.join(', ')} FROM ${table} ${table === 'audit_link' ? 'ORDER BY seq' : ''}`;
}

/** All rows with one statement: a list for each column. */
export function insertRows(table: string, rows: readonly CopiedRow[]): Sql {
  const columns = Object.entries(columnsOf(table));
  const lists = columns.map(([, kind], index) => `$${index + 1}::${TYPES[kind]}[]`);
  const names = quoteNames(columns.map(([name]) => name));
  return {
    text: `INSERT INTO ${table} (${names}) SELECT * FROM unnest(${lists.join(', ')})`,
    values: columns.map(([name]) => rows.map((row) => row[name] ?? null)),
  };
}
