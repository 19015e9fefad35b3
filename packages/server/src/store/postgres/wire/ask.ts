import type { PreparedQuery } from '../../engine/prepared-query.ts';
import type { Row, RowValue } from '../../engine/rows.ts';
import type { Connection } from './connection.ts';
import { toFault } from './database-error.ts';
import type { Parameter } from './encode-parameter.ts';
import { withPlaces } from './places.ts';

/** Runs one query. Queries that are sent without waiting share a round trip. */
export type Ask = <R = Row>(text: string, parameters?: readonly Parameter[]) => Promise<readonly R[]>;

/** Errors become faults. */
export function askOver(connection: Connection): Ask {
  return async <R>(text: string, parameters?: readonly Parameter[]) => {
    try {
      return await connection.query<R>(text, parameters);
    } catch (error) {
      throw toFault(error);
    }
  };
}

const BEGIN = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';
/** A report on many users would be sorted on disk with the memory that a statement has unless told. */
const LIMITS = `SELECT set_config('statement_timeout', $1::text, true), set_config('work_mem', '64MB', true)`;

/**
 * Answers everything that `read` asks from one snapshot. Its first queries share the round trip of the BEGIN.
 * It must await all of its queries. No transaction is left open.
 */
export async function readSnapshot<T>(
  connection: Connection,
  statementTimeoutMs: number,
  read: (ask: Ask) => Promise<T>,
): Promise<T> {
  const ask = askOver(connection);
  const begun = [ask(BEGIN), ask(LIMITS, [String(statementTimeoutMs)])];
  const [answer, ...beginnings] = await Promise.allSettled([read(ask), ...begun]);
  const [end] = await Promise.allSettled([ask('ROLLBACK')]);
  for (const part of [...beginnings, answer, end]) if (part.status === 'rejected') throw part.reason;
  return (answer as PromiseFulfilledResult<T>).value;
}

/** PostgreSQL cannot store the character zero, so a text with one matches nothing. */
export function isStorable(value: RowValue): boolean {
  return typeof value !== 'string' || !value.includes('\0');
}

/** Sends all statements at once. */
export async function answerQuery<A>(ask: Ask, { statements, answer }: PreparedQuery<A>): Promise<A> {
  const rows = statements.map(({ sql, values }) => {
    const { text, names } = withPlaces(sql);
    const given = names.map((name) => values[name] ?? null);
    return given.every(isStorable) ? ask(text, given) : [];
  });
  return answer(await Promise.all(rows));
}
