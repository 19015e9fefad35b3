import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

/** Values for `:name` in a statement. */
export type Named = Readonly<Record<string, SQLInputValue>>;

/** Reads rows once. The SQL decides what they are. */
export function listRows<R>(db: DatabaseSync, sql: string, values: Named = {}): R[] {
  return db.prepare(sql).all(values) as R[];
}

export function findRow<R>(db: DatabaseSync, sql: string, values: Named = {}): R | undefined {
  return db.prepare(sql).get(values) as R | undefined;
}

export function readPragma(db: DatabaseSync, name: string): unknown {
  return Object.values(findRow<object>(db, `PRAGMA ${name}`) ?? {})[0];
}

export function sqliteVersion(db: DatabaseSync): string {
  return String(findRow<{ readonly version: string }>(db, 'SELECT sqlite_version() AS version')?.version);
}
