import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Asked } from '../../engine/asked.ts';
import type { Row } from '../../engine/rows.ts';

/** Values for `:name` in a statement. */
type Named = Readonly<Record<string, SQLInputValue>>;

/** Prepares SQL that both stores share. */
export function prepare(db: DatabaseSync, sql: string): StatementSync {
  const text = sql.replaceAll('least(', 'min(').replaceAll('greatest(', 'max(');
  return db.prepare(text.replace(/::[a-z]+/g, ''));
}

/** Reads rows once. The SQL decides what they are. */
export function listRows<R>(db: DatabaseSync, sql: string, values: Named = {}): R[] {
  return prepare(db, sql).all(values) as R[];
}

export function findRow<R>(db: DatabaseSync, sql: string, values: Named = {}): R | undefined {
  return prepare(db, sql).get(values) as R | undefined;
}

export function answerAsked<A>(db: DatabaseSync, { statements, answer }: Asked<A>): A {
  return answer(statements.map(({ sql, values }) => listRows<Row>(db, sql, values)));
}

export function readPragma(db: DatabaseSync, name: string): unknown {
  return Object.values(findRow<object>(db, `PRAGMA ${name}`) ?? {})[0];
}

export function sqliteVersion(db: DatabaseSync): string {
  return String(findRow<{ readonly version: string }>(db, 'SELECT sqlite_version() AS version')?.version);
}
