import type { Row, RowValue } from '../../engine/rows.ts';
import type { StatementName } from '../../engine/statements.ts';
import type { RowTable } from './row-table.ts';
import { TABLES, type TableName } from './tables.ts';

type Tables = Readonly<Record<TableName, RowTable>>;

/** What a table has to say to a statement. */
export interface TableCall {
  readonly table: TableName;
  /** `undefined`: it does not know all of them. */
  readonly rows: readonly Row[] | undefined;
  /** What is to be read then: a group, or else the rows of a license that end first. */
  readonly group?: readonly RowValue[];
  readonly license?: number;
}

/** Statements that ask for one group of rows, and how its rows are ordered. */
const GROUP_READS: Partial<Record<StatementName, { table: TableName; order?: readonly string[] }>> = {
  findRegistration: { table: 'registration' },
  listFeatureSlotsOf: { table: 'feature_slot', order: ['feature'] },
  listDenialsOf: { table: 'denial', order: ['feature', 'code'] },
  listPlaceDenialsOf: { table: 'place_denial', order: ['code'] },
  findMeter: { table: 'meter' },
  findTotal: { table: 'consumption_total' },
  findAnswer: { table: 'remembered_answer' },
};

const END_READS: Partial<Record<StatementName, TableName>> = {
  listEnded: 'registration',
  findFirstEnd: 'registration',
  findNextEnd: 'registration',
  listEndedFeatureSlots: 'feature_slot',
  findFirstFeatureEnd: 'feature_slot',
};

/** Statements that write one row, given in the order of the columns; the others only its key. */
const ROW_WRITES: Partial<Record<StatementName, { table: TableName; columns?: readonly string[] }>> = {
  putRegistration: { table: 'registration', columns: Object.keys(TABLES.registration.columns) },
  removeRegistration: { table: 'registration' },
  putFeatureSlot: { table: 'feature_slot', columns: Object.keys(TABLES.feature_slot.columns) },
  removeFeatureSlot: { table: 'feature_slot' },
  putDenial: { table: 'denial', columns: Object.keys(TABLES.denial.columns) },
  removeDenial: { table: 'denial' },
  putPlaceDenial: { table: 'place_denial', columns: Object.keys(TABLES.place_denial.columns) },
  removePlaceDenial: { table: 'place_denial' },
  putMeter: { table: 'meter', columns: Object.keys(TABLES.meter.columns) },
  putTotal: { table: 'consumption_total', columns: Object.keys(TABLES.consumption_total.columns) },
  rememberAnswer: { table: 'remembered_answer', columns: Object.keys(TABLES.remembered_answer.columns) },
};

/** A row that is known gets another end; whoever renews has looked at it. */
function renew(table: RowTable, [endsAt, ...group]: readonly RowValue[]): boolean {
  const [row] = table.list(group) ?? [];
  if (row === undefined) return false;
  table.put({ ...row, ends_at: endsAt as RowValue });
  return true;
}

/** Answers a statement from the rows that are held ready; `null`: it is not one of those that can be. */
export function listFromTable(
  tables: Tables,
  name: StatementName,
  values: readonly RowValue[],
): TableCall | null {
  const group = GROUP_READS[name];
  if (group !== undefined) {
    const { table, order = [] } = group;
    const rows = tables[table].list(values);
    return { table, rows: rows === undefined ? rows : sortBy(rows, order), group: values };
  }
  const table = END_READS[name];
  if (table === undefined) return null;
  const [license = 0, after = 0, limit = 0] = values as readonly number[];
  return { table, rows: listByEnd(tables[table], name, license, after, limit), license };
}

function listByEnd(
  table: RowTable,
  name: StatementName,
  license: number,
  after: number,
  limit: number,
): readonly Row[] | undefined {
  if (name === 'listEnded' || name === 'listEndedFeatureSlots') {
    return table.listEnded(license, after, limit);
  }
  const endsAt = table.findEnd(license, name === 'findNextEnd' ? after : Number.NEGATIVE_INFINITY);
  return endsAt === undefined ? undefined : [{ ends_at: endsAt }];
}

function sortBy(rows: readonly Row[], columns: readonly string[]): readonly Row[] {
  if (columns.length === 0 || rows.length < 2) return rows;
  const nameOf = (row: Row) => columns.map((column) => row[column]).join('\u0000');
  return rows.toSorted((a, b) => Buffer.compare(Buffer.from(nameOf(a)), Buffer.from(nameOf(b))));
}

/** Writes a row; `false`: the statement is not one that writes a single row. */
export function writeToTable(tables: Tables, name: StatementName, values: readonly RowValue[]): boolean {
  if (name === 'renewRegistration') return renew(tables.registration, values);
  const write = ROW_WRITES[name];
  if (write === undefined) return false;
  const { table, columns } = write;
  const names = columns ?? TABLES[table].key;
  const row = Object.fromEntries(names.map((column, index) => [column, values[index] as RowValue]));
  if (columns === undefined) tables[table].remove(row);
  else tables[table].put(row);
  return true;
}
