import { type Sql, sqlFor } from '../../engine/sql.ts';

/** SQL as PostgreSQL takes it. */
export interface PlacedSql {
  readonly text: string;
  /** The names of the values in their order; none where they come in their order. */
  readonly names: readonly string[];
}

const known = new Map<string, PlacedSql>();

/** Numbers the places of values, which stand in shared SQL as `?` or `:name`. */
export function withPlaces(sql: Sql): PlacedSql {
  return known.getOrInsertComputed(sqlFor('postgres', sql), numberPlaces);
}

function numberPlaces(sql: string): PlacedSql {
  const names: string[] = [];
  let count = 0;
  const text = sql.replace(/\?|(?<!:):([a-zA-Z]+)/g, (_, name: string | undefined) => {
    if (name === undefined) return `$${++count}`;
    if (!names.includes(name)) names.push(name);
    return `$${names.indexOf(name) + 1}`;
  });
  return { text: text.replace(/\s+/g, ' ').trim(), names };
}
