import { ROW_SQL } from '../../engine/row-sql.ts';
import type { RowValue } from '../../engine/rows.ts';
import type { Read, Values, Write } from '../../engine/sql.ts';
import { STATEMENTS } from '../../engine/statements.ts';
import type { TableName } from '../../engine/tables.ts';
import { type PlacedSql, withPlaces } from '../wire/places.ts';

export interface Compiled extends PlacedSql {
  readonly id: number;
  readonly reads: readonly TableName[];
  readonly writes: TableName | null;
}

const compiled = new Map<Read | Write, Compiled>();
for (const sql of [STATEMENTS, ...Object.values(ROW_SQL)]) {
  for (const declared of Object.values<Read | Write>(sql)) {
    const tables = { writes: null, ...declared };
    compiled.set(declared, { id: compiled.size, ...withPlaces(declared.sql), ...tables });
  }
}

export function compiledOf(declared: Read | Write): Compiled {
  return compiled.get(declared) as Compiled;
}

/** The values of one call in the order of the statement. Anything that is not a value fails its command. */
export function valuesOf({ names }: Compiled, given: Values): readonly RowValue[] {
  const named = given[0] as Readonly<Record<string, RowValue>>;
  return requireValues(
    names.length === 0 ? (given as readonly RowValue[]) : names.map((name) => named[name] as RowValue),
  );
}

export function requireValues(values: readonly RowValue[]): readonly RowValue[] {
  for (const value of values) {
    if (value === null || typeof value === 'string' || value instanceof Uint8Array) continue;
    if (typeof value === 'number' && Number.isFinite(value)) continue;
    throw new TypeError(`A statement cannot be given a value of the type ${typeof value}.`);
  }
  return values;
}
