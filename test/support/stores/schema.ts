import type { DatabaseSync } from 'node:sqlite';
import { TABLES, type TableName } from '../../../packages/server/src/store/engine/tables.ts';
import { listRows } from '../../../packages/server/src/store/sqlite/wire/read-rows.ts';

/** A table as read from a database. */
export interface FoundTable {
  readonly columns: readonly {
    readonly name: string;
    readonly kind: string;
    readonly isNullable: boolean;
  }[];
  readonly key: readonly string[];
}

/** A table as defined in `TABLES`, with its columns sorted by name. */
export function expectedTable(name: TableName, store: 'sqlite' | 'postgres'): FoundTable {
  const table = { uncopied: {}, postgresOnly: {}, sqliteOnly: {}, ...TABLES[name] };
  const own = store === 'postgres' ? table.postgresOnly : table.sqliteOnly;
  const columns = Object.entries({ ...table.columns, ...table.uncopied, ...own }).map(
    ([column, { kind, isNullable }]) => ({ name: column, kind, isNullable }),
  );
  return { columns: columns.sort((a, b) => (a.name < b.name ? -1 : 1)), key: table.key };
}

const KINDS: Record<string, string> = { INTEGER: 'number', TEXT: 'text', BLOB: 'bytes' };

export function listSqliteNames(db: DatabaseSync, type: 'table' | 'index'): readonly string[] {
  const sql = "SELECT name FROM sqlite_schema WHERE type = :type AND name NOT LIKE 'sqlite_%' ORDER BY name";
  return listRows<{ name: string }>(db, sql, { type }).map(({ name }) => name);
}

export function describeSqliteTable(db: DatabaseSync, table: string): FoundTable {
  const rows = listRows<{ name: string; type: string; notnull: number; pk: number }>(
    db,
    `SELECT * FROM pragma_table_info('${table}') ORDER BY name`,
  );
  // In SQLite, `seq` is the primary key of a link; PostgreSQL assigns it later.
  const isLink = table === 'audit_link';
  const columns = rows.map(({ name, type, notnull, pk }) => ({
    name,
    kind: KINDS[type] ?? type,
    isNullable: isLink ? name === 'seq' : notnull === 0 && pk === 0,
  }));
  const keys = rows.filter(({ pk }) => pk !== 0).sort((a, b) => a.pk - b.pk);
  return { columns, key: isLink ? ['chain', 'n'] : keys.map(({ name }) => name) };
}
