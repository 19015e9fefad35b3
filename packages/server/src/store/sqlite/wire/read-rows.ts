import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { PreparedQuery } from '../../engine/prepared-query.ts';
import type { Row } from '../../engine/rows.ts';
import { type Sql, sqlFor } from '../../engine/sql.ts';

/** Values for `:name` in a statement. */
type Named = Readonly<Record<string, SQLInputValue>>;

export function prepare(db: DatabaseSync, sql: Sql): StatementSync {
  return db.prepare(sqlFor('sqlite', sql));
}

type Statement = Pick<StatementSync, 'get' | 'all' | 'run'>;

/** Prepares a statement when it is first used. A store has many, and most of the time few are needed. */
export function prepareLate(db: DatabaseSync, sql: Sql): Statement {
  const late = {} as Record<keyof Statement, (...values: SQLInputValue[]) => unknown>;
  const prepared = () => {
    const statement = prepare(db, sql);
    late.get = statement.get.bind(statement);
    late.all = statement.all.bind(statement);
    late.run = statement.run.bind(statement);
    return late;
  };
  late.get = (...values) => prepared().get(...values);
  late.all = (...values) => prepared().all(...values);
  late.run = (...values) => prepared().run(...values);
  return late as unknown as Statement;
}

/** Reads rows once. The SQL decides what they are. */
export function listRows<R>(db: DatabaseSync, sql: Sql, values: Named = {}): R[] {
  return prepare(db, sql).all(values) as R[];
}

export function findRow<R>(db: DatabaseSync, sql: Sql, values: Named = {}): R | undefined {
  return prepare(db, sql).get(values) as R | undefined;
}

export function answerQuery<A>(db: DatabaseSync, { statements, answer }: PreparedQuery<A>): A {
  return answer(statements.map(({ sql, values }) => listRows<Row>(db, sql, values)));
}

/** Prepares a statement on first use. Forgets none, so the SQL must be constant. */
export class PreparedOnce {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  get(sql: Sql): StatementSync {
    return this.#statements.getOrInsertComputed(sqlFor('sqlite', sql), () => prepare(this.#db, sql));
  }

  answer<A>({ statements, answer }: PreparedQuery<A>): A {
    return answer(statements.map(({ sql, values }) => this.get(sql).all(values)));
  }
}

export function readPragma(db: DatabaseSync, name: string): unknown {
  return Object.values(findRow<object>(db, `PRAGMA ${name}`) ?? {})[0];
}

export function sqliteVersion(db: DatabaseSync): string {
  return String(findRow<{ readonly version: string }>(db, 'SELECT sqlite_version() AS version')?.version);
}
