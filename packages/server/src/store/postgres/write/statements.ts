import { ROW_SQL } from '../../engine/row-sql.ts';
import type { RowValue } from '../../engine/rows.ts';
import type { Read, Values, Write } from '../../engine/sql.ts';
import { STATEMENTS } from '../../engine/statements.ts';
import type { TableName } from '../../engine/tables.ts';

/** The statements of the engine as this store takes them. */
export const POSTGRES_STATEMENTS = {
  ...STATEMENTS,
  /** Rows that somebody works with are not waited for. */
  removeOldestAnswers: {
    ...STATEMENTS.removeOldestAnswers,
    sql: STATEMENTS.removeOldestAnswers.sql.replace('LIMIT ?', 'LIMIT ? FOR UPDATE SKIP LOCKED'),
  },
} as const;

/** A statement as this driver takes it. */
export interface Compiled {
  readonly id: number;
  readonly text: string;
  /** The names of the values in their order; `null`: they come in their order. */
  readonly names: readonly string[] | null;
  readonly reads: readonly TableName[];
  readonly writes: TableName | null;
}

const compiled = new Map<Read | Write, Compiled>();
for (const declared of Object.values(POSTGRES_STATEMENTS)) compiled.set(declared, compile(declared));
for (const sql of Object.values(ROW_SQL)) {
  for (const declared of Object.values(sql)) compiled.set(declared, compile(declared));
}

export function compiledOf(declared: Read | Write): Compiled {
  return compiled.get(declared) as Compiled;
}

function compile(declared: Read | Write): Compiled {
  const names: string[] = [];
  let count = 0;
  const text = declared.sql.replace(/\?|:([a-zA-Z]+)/g, (_, name: string | undefined) => {
    if (name === undefined) return `$${++count}`;
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return {
    id: compiled.size,
    text: text.replace(/\s+/g, ' ').trim(),
    names: names.length > 0 ? names : null,
    reads: 'reads' in declared ? declared.reads : [],
    writes: 'writes' in declared ? declared.writes : null,
  };
}

/** The values of one call in the order of the statement. Anything that is no value fails its command. */
export function valuesOf({ names }: Compiled, given: Values): readonly RowValue[] {
  const named = given[0] as Readonly<Record<string, RowValue>>;
  return requireValues(
    names === null ? (given as readonly RowValue[]) : names.map((name) => named[name] as RowValue),
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
