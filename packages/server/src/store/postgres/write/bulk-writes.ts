import type { Row } from '../../engine/rows.ts';
import type { Parameter } from '../wire/encode-parameter.ts';
import type { Changes, TableSpec } from './row-table.ts';

/** Something to send to the database. */
export interface Sql {
  readonly text: string;
  readonly values: readonly Parameter[];
}

/** All changes of a table in two statements at most: whatever the number of rows, each is sent once. */
export function writeChanges(spec: TableSpec, changes: Changes): readonly Sql[] {
  const put: Row[] = [];
  const gone: Row[] = [];
  for (const { row, key } of changes.values()) {
    if (row === null) gone.push(key);
    else put.push(row);
  }
  const { remove, upsert } = sqlOf(spec);
  return [
    ...(gone.length === 0 ? [] : [{ text: remove, values: [JSON.stringify(gone)] }]),
    ...(put.length === 0 ? [] : [{ text: upsert, values: [JSON.stringify(put)] }]),
  ];
}

/** Reads all rows of some groups. */
export function readGroups(spec: TableSpec, groups: readonly Row[]): Sql {
  return { text: sqlOf(spec).read, values: [JSON.stringify(groups)] };
}

/**
 * Reads the rows of each license that end first; at most `limit` each. It stands in the text: a plan that is
 * made for any limit at all expects a tenth of the table, and reads and sorts the whole of it.
 */
export function readSoonest(spec: TableSpec, licenses: readonly number[], limit: number): Sql {
  return { text: `${sqlOf(spec).soonest} LIMIT ${limit}) AS soonest`, values: [JSON.stringify(licenses)] };
}

/** Reads all rows of some licenses. */
export function readLicenses(spec: TableSpec, licenses: readonly number[]): Sql {
  return { text: sqlOf(spec).all, values: [licenses] };
}

interface TableSql {
  readonly upsert: string;
  readonly remove: string;
  readonly read: string;
  /** Without its end. */
  readonly soonest: string;
  readonly all: string;
}

const made = new Map<string, TableSql>();

function sqlOf(spec: TableSpec): TableSql {
  const known = made.get(spec.name);
  if (known !== undefined) return known;
  const sql = makeSql(spec);
  made.set(spec.name, sql);
  return sql;
}

/** Of JSON the database cannot tell how long it is, so that one plan is as good as another. */
const LICENSES = 'SELECT value::bigint AS id FROM json_array_elements_text($1::text::json) AS value';

function makeSql({ name, columns, key, group }: TableSpec): TableSql {
  const all = Object.keys(columns);
  const kept = all.filter((column) => !key.includes(column));
  const rows = (names: readonly string[]) => {
    const typed = names.map((column) => `${quote(column)} ${columns[column]}`);
    return `json_to_recordset($1::text::json) AS given(${typed})`;
  };
  const matches = (names: readonly string[]) =>
    names.map((column) => `${name}.${quote(column)} = given.${quote(column)}`).join(' AND ');
  const order = ['ends_at', ...key.slice(1)].map(quote);
  return {
    upsert:
      `INSERT INTO ${name} (${all.map(quote)}) SELECT ${all.map(quote)} FROM ${rows(all)} ` +
      `ON CONFLICT (${key.map(quote)}) DO UPDATE SET ` +
      kept.map((column) => `${quote(column)} = excluded.${quote(column)}`).join(', '),
    remove: `DELETE FROM ${name} USING ${rows(key)} WHERE ${matches(key)}`,
    read: `SELECT ${name}.* FROM ${rows(group)} JOIN ${name} ON ${matches(group)}`,
    soonest:
      `SELECT soonest.* FROM (${LICENSES}) AS license CROSS JOIN LATERAL (SELECT * FROM ${name} ` +
      `WHERE license_id = license.id ORDER BY ${order}`,
    all: `SELECT * FROM ${name} WHERE license_id = ANY($1::bigint[])`,
  };
}

function quote(column: string): string {
  return `"${column}"`;
}
