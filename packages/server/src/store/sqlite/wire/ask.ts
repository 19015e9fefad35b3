import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { Asked } from '../../engine/asked.ts';
import type { Row } from '../../engine/rows.ts';
import { HAS_ENDED } from '../../engine/statements.ts';

/** Values for `:name` in a statement. */
type Named = Readonly<Record<string, SQLInputValue>>;

/** Prepares SQL that both stores share. Here, registrations are indexed by when they are due. */
export function prepare(db: DatabaseSync, sql: string): StatementSync {
  const text = sql
    .replaceAll(HAS_ENDED, `due_at <= :now AND ${HAS_ENDED}`)
    .replaceAll('least(', 'min(')
    .replaceAll('greatest(', 'max(')
    .replaceAll('strpos(', 'instr(');
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

/** Prepares a statement on first use. Forgets none, so the SQL must be constant. */
export class PreparedOnce {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  get(sql: string): StatementSync {
    return this.#statements.getOrInsertComputed(sql, () => prepare(this.#db, sql));
  }

  answer<A>({ statements, answer }: Asked<A>): A {
    return answer(statements.map(({ sql, values }) => this.get(sql).all(values)));
  }
}

export function readPragma(db: DatabaseSync, name: string): unknown {
  return Object.values(findRow<object>(db, `PRAGMA ${name}`) ?? {})[0];
}

export function sqliteVersion(db: DatabaseSync): string {
  return String(findRow<{ readonly version: string }>(db, 'SELECT sqlite_version() AS version')?.version);
}
