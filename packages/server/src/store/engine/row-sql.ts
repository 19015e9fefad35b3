import type { Instant } from '../../core/nouns/instant.ts';
import type { LicenseId } from '../../core/nouns/license.ts';
import type { RowValue } from './rows.ts';
import { lesser, type Prepare, prepareAll, reads, writesTo } from './sql.ts';
import {
  columnsOf,
  type GroupOf,
  type KeyOf,
  quoteNames,
  type RowOf,
  TABLE_NAMES,
  type TableName,
  tableOf,
} from './tables.ts';

/** One table, row by row. */
interface Rows<N extends TableName> {
  find(key: KeyOf<N>): RowOf<N> | undefined;
  /** All rows of a group, ordered by the rest of the key. */
  list(group: GroupOf<N>): readonly RowOf<N>[];
  /** Fails if there is a row with this key. */
  add(row: RowOf<N>): void;
  /** Replaces the row with this key, if there is one. */
  put(row: RowOf<N>): void;
  remove(key: KeyOf<N>): void;
}

/** Tables whose rows end. */
type EndingTable = 'registration' | 'feature_slot';

export interface EndingRows<N extends EndingTable> extends Rows<N> {
  /** Rows of a license that end at or before `now`, the first to end first; at most `limit`. */
  listEnded(licenseId: LicenseId, now: Instant, limit: number): readonly RowOf<N>[];
  /** When the next row of a license ends, later than `after`. Without that: no row ends before the answer. */
  findEnd(licenseId: LicenseId, after?: Instant): Instant | null;
  renew(key: KeyOf<N>, endsAt: Instant): void;
}

export type AllRows = {
  readonly [N in TableName]: N extends EndingTable ? EndingRows<N> : Rows<N>;
};

/**
 * The SQL for one table, the same text for both databases. `ends`: columns that only one store has, which
 * begin as the row's end and are never later.
 */
function makeSql(name: TableName, ends: readonly string[] = []) {
  const { key, group } = tableOf(name);
  const columns = [...columnsOf(name), ...ends];
  const where = (names: readonly string[]) => names.map((column) => `"${column}" = ?`).join(' AND ');
  const rest = key.slice(group.length);
  const order = rest.length === 0 ? '' : ` ORDER BY ${quoteNames(rest)}`;
  const insert = `INSERT INTO ${name} (${quoteNames(columns)}) VALUES (${columns.map(() => '?').join(', ')})`;
  const ending = {
    listEnded: reads<RowOf<EndingTable>>(
      name,
      `SELECT * FROM ${name} WHERE license_id = ? AND ends_at <= ?
       ORDER BY ends_at, ${quoteNames(key.slice(1))} LIMIT ?`,
    ),
    findEnd: reads<{ readonly ends_at: Instant | null }>(
      name,
      `SELECT min(ends_at) AS ends_at FROM ${name} WHERE license_id = ? AND ends_at > ?`,
    ),
    ...writesTo(name, {
      renew: `UPDATE ${name} SET ends_at = ?${ends.map((end) => `, ${end} = ${lesser(end, '?')}`)}
        WHERE ${where(key)}`,
    }),
  };
  return {
    find: reads<RowOf<TableName>>(name, `SELECT * FROM ${name} WHERE ${where(key)}`),
    list: reads<RowOf<TableName>>(name, `SELECT * FROM ${name} WHERE ${where(group)}${order}`),
    ...writesTo(name, {
      add: insert,
      put: `${insert} ${replaceRow(name, columns)}`,
      remove: `DELETE FROM ${name} WHERE ${where(key)}`,
    }),
    ...('ends_at' in tableOf(name).columns ? ending : ({} as typeof ending)),
  };
}

/** Ends an INSERT that replaces a row with the same key. */
export function replaceRow(name: TableName, columns = columnsOf(name)): string {
  const { key } = tableOf(name);
  const kept = columns.filter((column) => !key.includes(column));
  const set = kept.map((column) => `"${column}" = excluded."${column}"`);
  return `ON CONFLICT (${quoteNames(key)}) DO UPDATE SET ${set.join(', ')}`;
}

type RowSql = ReturnType<typeof makeSql>;

export const ROW_SQL = Object.fromEntries(TABLE_NAMES.map((name) => [name, makeSql(name)])) as Readonly<
  Record<TableName, RowSql>
>;

/** Earlier than any end. */
export const NEVER = Number.MIN_SAFE_INTEGER as Instant;

/** Reads and writes the rows of a table with its SQL. */
export function accessRows(
  name: TableName,
  prepare: Prepare,
  ends: readonly string[] = [],
): AllRows[TableName] {
  const { key, group } = tableOf(name);
  const columns = [...columnsOf(name), ...ends.map(() => 'ends_at')];
  const sql = ends.length === 0 ? ROW_SQL[name] : makeSql(name, ends);
  const { find, list, add, put, remove, ...ending } = prepareAll(sql, prepare);
  const { listEnded, findEnd, renew } = ending;
  const rows: EndingRows<'registration'> = {
    find: (wanted) => find.get(...pickValues(wanted, key)) as RowOf<'registration'> | undefined,
    list: (wanted) => list.all(...pickValues(wanted, group)) as RowOf<'registration'>[],
    add: (row) => add.run(...pickValues(row, columns)),
    put: (row) => put.run(...pickValues(row, columns)),
    remove: (gone) => remove.run(...pickValues(gone, key)),
    listEnded: (...asked) => listEnded.all(...asked) as RowOf<'registration'>[],
    findEnd: (licenseId, after = NEVER) => findEnd.get(licenseId, after)?.ends_at ?? null,
    renew: (renewed, endsAt) =>
      renew.run(endsAt, ...ends.flatMap(() => [endsAt, endsAt]), ...pickValues(renewed, key)),
  };
  return rows as unknown as AllRows[TableName];
}

/** The values of a row by their columns. */
export function pickValues(row: Readonly<Record<string, RowValue>>, columns: readonly string[]): RowValue[] {
  const values: RowValue[] = [];
  for (const column of columns) values.push(row[column] as RowValue);
  return values;
}
