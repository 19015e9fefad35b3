import type { RowValue } from './rows.ts';
import type { TableName } from './tables.ts';

export type Dialect = 'sqlite' | 'postgres';

/** The text that both databases take, or one for each. `?` or `:name` stand for values. */
export type Sql = string | Readonly<Record<Dialect, string>>;

/** Writes a statement out for both. */
export function inEach(write: (dialect: Dialect) => string): Sql {
  return { sqlite: write('sqlite'), postgres: write('postgres') };
}

export function sqlFor(dialect: Dialect, sql: Sql): string {
  return typeof sql === 'string' ? sql : sql[dialect];
}

/** A statement that reads. `R` is the row that it returns. */
export interface Read<R = unknown> {
  readonly sql: Sql;
  readonly reads: readonly TableName[];
  /** Never set: it only carries the type. */
  readonly row?: R;
}

/** A statement that changes rows of one table. */
export interface Write {
  readonly sql: Sql;
  readonly writes: TableName;
  /** Other tables that it looks at. */
  readonly reads: readonly TableName[];
}

export function reads<R>(tables: TableName | readonly TableName[], sql: Sql): Read<R> {
  return { sql, reads: typeof tables === 'string' ? [tables] : tables };
}

/** Statements that change one table, by their names. */
export function writesTo<S extends Readonly<Record<string, Sql>>>(
  table: TableName,
  sql: S,
  looksAt: readonly TableName[] = [],
): { readonly [N in keyof S]: Write } {
  const declared = Object.entries(sql).map(([name, text]) => {
    return [name, { sql: text, writes: table, reads: looksAt }];
  });
  return Object.fromEntries(declared) as { readonly [N in keyof S]: Write };
}

/** Values for `?` in their order, or for `:name` by their names. */
export type Values = readonly RowValue[] | readonly [Readonly<Record<string, RowValue>>];

/** Synchronous: a store whose database is remote must have the rows in memory. */
interface ReadStatement<R> {
  get(...values: Values): R | undefined;
  all(...values: Values): R[];
}

interface WriteStatement {
  run(...values: Values): void;
}

type Prepared<S> = S extends Write ? WriteStatement : S extends Read<infer R> ? ReadStatement<R> : never;

export type PreparedAll<S> = { readonly [N in keyof S]: Prepared<S[N]> };

/** Makes a statement of a store from its declaration. */
export type Prepare = <S extends Read | Write>(declared: S) => Prepared<S>;

export function prepareAll<S extends Readonly<Record<string, Read | Write>>>(
  declared: S,
  prepare: Prepare,
): PreparedAll<S> {
  const prepared = Object.entries(declared).map(([name, one]) => [name, prepare(one)]);
  return Object.fromEntries(prepared) as PreparedAll<S>;
}

export interface Count {
  readonly count: number;
}

export function countOf(row: Count | undefined): number {
  return row?.count ?? 0;
}

/** The lesser of two values, and the second if one is null: the databases have no function in common. */
export function lesser(one: string, other: string): string {
  return `CASE WHEN ${one} < ${other} THEN ${one} ELSE ${other} END`;
}

export function greater(one: string, other: string): string {
  return `CASE WHEN ${one} > ${other} THEN ${one} ELSE ${other} END`;
}

/** Clamps a number to what JavaScript can hold: Berth writes none beyond, but tampering must show. */
export function readable(column: string, name = column): string {
  const most = Number.MAX_SAFE_INTEGER;
  return `CASE WHEN ${column} > ${most} THEN ${most} WHEN ${column} < -${most} THEN -${most}
    ELSE ${column} END AS ${name}`;
}
