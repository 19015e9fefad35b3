import { type Instant, instant } from '../../../core/nouns/instant.ts';
import type { HistoryRows } from '../../engine/history/history-rows.ts';
import { addToRow, HISTORY_TABLES, type HistoryTable } from '../../engine/history/history-sql.ts';
import { replaceRow } from '../../engine/row-sql.ts';
import type { Row } from '../../engine/rows.ts';
import { columnsOf, quoteNames, type TableName, tableOf } from '../../engine/tables.ts';
import type { Parameter, Scalar } from '../wire/encode-parameter.ts';
import { type Changes, HELD_TABLES, type HeldRow, type HeldTable } from './row-table.ts';

/** A statement with its values. */
export interface Sql {
  readonly text: string;
  readonly values: readonly Parameter[];
}

/** Sends statements. Those sent without waiting share a round trip. */
export interface Sender {
  query<R = Row>(text: string, values: readonly Parameter[]): Promise<readonly R[]>;
}

/** All changes of a table in at most three statements, however many rows there are. */
export function writeChanges(table: HeldTable, changes: Changes): readonly Sql[] {
  const put: Row[] = [];
  const renewed: Row[] = [];
  const gone: Row[] = [];
  for (const { row, key, isRenewal } of changes.values()) {
    if (row === null) gone.push(key);
    else (isRenewal ? renewed : put).push(row);
  }
  const { remove, upsert, renew } = SQL[table];
  const { key: columns } = tableOf(table);
  return [
    ...(gone.length === 0 ? [] : [{ text: remove, values: [JSON.stringify(gone, [...columns])] }]),
    ...(renewed.length === 0 ? [] : [{ text: renew, values: toLists(renewed, renewedColumns(table)) }]),
    ...(put.length === 0 ? [] : [{ text: upsert, values: [JSON.stringify(put)] }]),
  ];
}

/** The key, and what a renewal changes. */
function renewedColumns(table: HeldTable): readonly string[] {
  return [...tableOf(table).key, 'ends_at'];
}

/** A list for each column. */
function toLists(rows: readonly Row[], columns: readonly string[]): readonly Scalar[][] {
  return columns.map((column) => rows.map((row) => row[column] as Scalar));
}

/** Adds rows to those of the history, in one statement. */
export function addHistory({ table, rows }: HistoryRows): Sql {
  return { text: ADD[table], values: [JSON.stringify(rows)] };
}

/**
 * Reads all rows of some groups. It looks up each in the primary key. Told to find any of a list of users,
 * PostgreSQL prefers the index by end if it knows little of the table, and reads all of the license there.
 */
export function readGroups(table: HeldTable, groups: readonly HeldRow[]): Sql {
  const { group } = tableOf(table);
  return { text: SQL[table].read, values: toLists(groups, group) };
}

/** Nothing ends later. */
const LAST_INSTANT = instant(Number.MAX_SAFE_INTEGER);

/**
 * Reads the rows of each license that end first, and not after `endsBy`; at most `limit` each. The limit is
 * part of the text: a plan for any limit expects a tenth of the table, and would read and sort all of it.
 */
export function readSoonest(
  table: HeldTable,
  licenses: readonly number[],
  limit: number,
  endsBy: Instant = LAST_INSTANT,
): Sql {
  const { soonest, soonestOfOne } = SQL[table];
  const [first, ...others] = licenses;
  return first !== undefined && others.length === 0
    ? { text: `${soonestOfOne} LIMIT ${limit}`, values: [first, endsBy] }
    : { text: `${soonest} LIMIT ${limit}) AS soonest`, values: [licenses, endsBy] };
}

/** Reads all rows of some licenses. */
export function readLicenses(table: HeldTable, licenses: readonly number[]): Sql {
  return { text: SQL[table].all, values: [licenses] };
}

interface TableSql {
  readonly upsert: string;
  readonly remove: string;
  /** For tables whose rows end. */
  readonly renew: string;
  readonly read: string;
  /** Without the limit and what follows. */
  readonly soonest: string;
  readonly soonestOfOne: string;
  readonly all: string;
}

/** The types of columns in PostgreSQL. */
const TYPES = { number: 'bigint', text: 'text', bytes: 'bytea' } as const;

export function typeOf(table: TableName, column: string): string {
  return TYPES[tableOf(table).columns[column]?.kind ?? 'text'];
}

const SQL = Object.fromEntries(HELD_TABLES.map((table) => [table, makeSql(table)])) as Readonly<
  Record<HeldTable, TableSql>
>;

const ADD = Object.fromEntries(HISTORY_TABLES.map((table) => [table, makeAdd(table)])) as Readonly<
  Record<HistoryTable, string>
>;

function makeAdd(table: HistoryTable): string {
  const all = columnsOf(table);
  const columns = quoteNames(all);
  return `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM ${given(table, all)} ${addToRow(table)}`;
}

/** The rows of lists, one for each column. */
function listed(table: TableName, columns: readonly string[]): string {
  const lists = columns.map((column, index) => `$${index + 1}::${typeOf(table, column)}[]`);
  return `unnest(${lists}) AS given(${quoteNames(columns)})`;
}

/** The rows of a JSON list. */
function given(table: TableName, columns: readonly string[]): string {
  const typed = columns.map((column) => `"${column}" ${typeOf(table, column)}`);
  return `json_to_recordset($1::text::json) AS given(${typed})`;
}

function makeSql(name: HeldTable): TableSql {
  const { key, group } = tableOf(name);
  const all = columnsOf(name);
  const rows = (names: readonly string[]) => given(name, names);
  const matches = (names: readonly string[]) =>
    names.map((column) => `${name}."${column}" = given."${column}"`).join(' AND ');
  // Not all columns: after a newer server has added one, the statements of this one must still be valid.
  const own = all.map((column) => `${name}."${column}"`).join(', ');
  const ends = 'ends_at <= $2::bigint';
  const byEnd = `ORDER BY ends_at, ${quoteNames(key.slice(1))}`;
  return {
    upsert:
      `INSERT INTO ${name} (${quoteNames(all)}) SELECT ${quoteNames(all)} FROM ${rows(all)} ` +
      replaceRow(name),
    remove: `DELETE FROM ${name} USING ${rows(key)} WHERE ${matches(key)}`,
    renew:
      `UPDATE ${name} SET ends_at = given.ends_at FROM ${listed(name, renewedColumns(name))} ` +
      `WHERE ${matches(key)}`,
    read: `SELECT ${own} FROM ${listed(name, group)} JOIN ${name} ON ${matches(group)}`,
    soonest:
      `SELECT soonest.* FROM unnest($1::bigint[]) AS license(id) ` +
      `CROSS JOIN LATERAL (SELECT ${own} FROM ${name} WHERE license_id = license.id AND ${ends} ${byEnd}`,
    soonestOfOne: `SELECT ${own} FROM ${name} WHERE license_id = $1::bigint AND ${ends} ${byEnd}`,
    all: `SELECT ${own} FROM ${name} WHERE license_id = ANY($1::bigint[])`,
  };
}
