import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { RowValue } from '../../engine/rows.ts';
import { quoteNames, type TableName } from '../../engine/tables.ts';
import { prepare } from '../wire/read-rows.ts';

/** How many rows one statement inserts. The largest first. */
const ROWS_AT_ONCE = [32, 8, 2, 1];

/** Inserts rows with few statements: one with many rows costs two thirds of as many statements with one. */
export class BulkInsert {
  readonly #db: DatabaseSync;
  readonly columns: readonly string[];
  readonly #sqlFor: (rows: number) => string;
  readonly #statements = new Map<number, StatementSync>();

  /** `ending`: what to do with a row that is there already. */
  constructor(db: DatabaseSync, table: TableName, columns: readonly string[], ending = '') {
    const row = `(${columns.map(() => '?').join(', ')})`;
    this.#db = db;
    this.columns = columns;
    // OR FAIL: the caller gives up the transaction, so SQLite need not be able to undo the statement.
    this.#sqlFor = (rows) =>
      `INSERT OR FAIL INTO ${table} (${quoteNames(columns)}) VALUES ${Array(rows).fill(row)} ${ending}`;
  }

  /** Takes the values of all rows, row after row. If it throws, the transaction must be given up. */
  run(values: readonly RowValue[]): void {
    let written = 0;
    for (const rows of ROWS_AT_ONCE) {
      const count = rows * this.columns.length;
      for (; values.length - written >= count; written += count) {
        const isAll = count === values.length;
        // When it is needed: most of them never are.
        const statement = this.#statements.get(rows) ?? prepare(this.#db, this.#sqlFor(rows));
        this.#statements.set(rows, statement);
        statement.run(...(isAll ? values : values.slice(written, written + count)));
      }
    }
  }
}
