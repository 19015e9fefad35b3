import type { Row } from '../../engine/rows.ts';
import type { Connection } from './connection.ts';
import { toFault } from './database-error.ts';
import type { Parameter } from './encode-parameter.ts';

/** Runs one query. Queries that are sent without waiting share a round trip. */
export type Ask = (text: string, parameters?: readonly Parameter[]) => Promise<readonly Row[]>;

/** Errors become faults. */
export function askOver(connection: Connection): Ask {
  return async (text, parameters) => {
    try {
      return (await connection.query(text, parameters)) as Row[];
    } catch (error) {
      throw toFault(error);
    }
  };
}

const BEGIN = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';
const LIMIT_TIME = "SELECT set_config('statement_timeout', $1::text, true)";

/**
 * Answers everything that `read` asks from one snapshot. Its first queries share the round trip of the BEGIN.
 * It must await all of its queries. No transaction is left open.
 */
export async function askAsOfOneMoment<T>(
  connection: Connection,
  statementTimeoutMs: number,
  read: (ask: Ask) => Promise<T>,
): Promise<T> {
  const ask = askOver(connection);
  const begun = [ask(BEGIN), ask(LIMIT_TIME, [String(statementTimeoutMs)])];
  const [answer, ...beginnings] = await Promise.allSettled([read(ask), ...begun]);
  const [end] = await Promise.allSettled([ask('ROLLBACK')]);
  for (const part of [...beginnings, answer, end]) if (part.status === 'rejected') throw part.reason;
  return (answer as PromiseFulfilledResult<T>).value;
}

const LARGEST = Number.MAX_SAFE_INTEGER;

/** Clamps a number to what JavaScript can hold: Berth writes none beyond, but tampering must show. */
export function readable(column: string, name = column): string {
  const clamped = `greatest(least(${column}, ${LARGEST}), -${LARGEST})`;
  return `CASE WHEN ${column} IS NOT NULL THEN ${clamped} END AS ${name}`;
}

/** PostgreSQL cannot store the character zero, so a text with one matches nothing. */
export function isStorable(text: string | null): boolean {
  return text === null || !text.includes('\0');
}
