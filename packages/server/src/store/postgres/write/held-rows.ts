import type { Instant } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import { type AllRows, type EndingRows, pickValues, ROW_SQL } from '../../engine/row-sql.ts';
import type { RowValue } from '../../engine/rows.ts';
import type { Write } from '../../engine/sql.ts';
import { columnsOf, type RowOf, type TableName, tableOf } from '../../engine/tables.ts';
import type { HeldRow, HeldTable, RowTable } from './row-table.ts';
import { type Compiled, compiledOf, requireValues } from './statements.ts';

/** Rows to be read: a group, or the rows of a license that end first. */
export type RowRequest =
  | { readonly kind: 'group'; readonly table: HeldTable; readonly group: HeldRow }
  | {
      readonly kind: 'soonest';
      readonly table: HeldTable;
      readonly license: LicenseId;
      readonly limit: number;
    };

/** The transaction that holds the rows. */
interface Holder {
  /** Whether the running command has changed the table in a way that only the database knows. */
  isBlind(table: TableName): boolean;
  /** Notes a write; `follow` does the same to the held rows, and returns `false` if it cannot. */
  run(statement: Compiled, values: readonly RowValue[], follow: () => unknown): void;
  miss(request: RowRequest): Error;
}

/** As many as one command collects, and one more to see whether there are more. */
const SOONEST_LIMIT = 1001;

/** The rows of a table from those held in memory; `aside` reads from the database. */
export function holdRows(
  table: RowTable,
  aside: () => AllRows[TableName],
  holder: Holder,
): AllRows[TableName] {
  const { name } = table;
  const { key, group } = tableOf(name);
  const columns = columnsOf(name);
  const sql = ROW_SQL[name];
  const asked = () => aside() as EndingRows<'registration'>;
  const isBlind = () => holder.isBlind(name);
  const write = (declared: Write, values: readonly RowValue[], follow: () => unknown) =>
    holder.run(compiledOf(declared), requireValues(values), follow);
  function read<T>(wanted: HeldRow, found: T | undefined): T {
    requireValues(pickValues(wanted, group));
    if (found === undefined) throw holder.miss({ kind: 'group', table: name, group: wanted });
    return found;
  }
  function requireSoonest<T>(license: LicenseId, found: T | undefined): T {
    if (found !== undefined) return found;
    const limit = Math.max(SOONEST_LIMIT, 2 * table.soonestLimit(license));
    throw holder.miss({ kind: 'soonest', table: name, license, limit });
  }
  /** Callers have read the row before, so it is known. */
  function renew(wanted: HeldRow, endsAt: Instant): boolean {
    const row = table.find(wanted) ?? null;
    if (row === null) return false;
    table.renew({ ...row, ends_at: endsAt });
    return true;
  }
  const rows: EndingRows<'registration'> = {
    find(wanted) {
      if (isBlind()) return asked().find(wanted);
      return (read(wanted, table.find(wanted)) ?? undefined) as RowOf<'registration'> | undefined;
    },
    list(wanted) {
      if (isBlind()) return asked().list(wanted);
      return read(wanted, table.list(wanted)) as RowOf<'registration'>[];
    },
    add: (row) => asked().add(row),
    put: (row) => write(sql.put, pickValues(row, columns), () => table.put(row)),
    remove: (gone) => write(sql.remove, pickValues(gone, key), () => table.remove(gone)),
    listEnded(license, now, limit) {
      if (isBlind()) return asked().listEnded(license, now, limit);
      return requireSoonest(license, table.listEnded(license, now, limit)) as RowOf<'registration'>[];
    },
    findEnd(license, after) {
      if (isBlind()) return asked().findEnd(license, after);
      return requireSoonest(
        license,
        after === undefined ? table.boundEnds(license) : table.findEnd(license, after),
      );
    },
    renew: (wanted, endsAt) =>
      write(sql.renew, [endsAt, ...pickValues(wanted, key)], () => renew(wanted, endsAt)),
  };
  return rows as unknown as AllRows[TableName];
}
