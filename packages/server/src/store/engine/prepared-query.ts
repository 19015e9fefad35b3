import type { RowValue } from './rows.ts';
import type { Sql } from './sql.ts';

type Named = Readonly<Record<string, RowValue>>;

export interface Statement {
  readonly sql: Sql;
  readonly values: Named;
}

/** Statements to run together, and how their rows become an answer. */
export interface PreparedQuery<A> {
  readonly statements: readonly Statement[];
  /** `rows`: of each statement. */
  answer(rows: readonly (readonly unknown[])[]): A;
}

export function prepareQuery<R, A>(
  sql: Sql,
  values: Named,
  answer: (rows: readonly R[]) => A,
): PreparedQuery<A> {
  return { statements: [{ sql, values }], answer: ([rows]) => answer(rows as readonly R[]) };
}
