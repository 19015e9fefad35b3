import type { Row } from '../../engine/rows.ts';
import type { Connection } from './connection.ts';
import { toFault } from './database-error.ts';
import type { Parameter } from './encode-parameter.ts';

/** Asks the database one question. Questions that are asked at once travel together. */
export type Ask = <R = Row>(text: string, parameters?: readonly Parameter[]) => Promise<readonly R[]>;

/** Whatever goes wrong is told as people are told it. */
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
const LIMIT_TIME = "SELECT set_config('statement_timeout', $1::text, true)";

/**
 * Everything that `read` asks is answered as of one moment; what it asks first travels with the beginning. It
 * must have heard every answer when it ends. There is nothing to commit, and no transaction is left open.
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

/** A number as far as it can be read: larger ones were never written by us, and must not go unseen. */
export function readable(column: string, name = column): string {
  const clamped = `greatest(least(${column}, ${LARGEST}), -${LARGEST})`;
  return `CASE WHEN ${column} IS NOT NULL THEN ${clamped} END AS ${name}`;
}

/** No text in the database holds the character zero, so that nothing is found by one that does. */
export function isStorable(text: string | null): boolean {
  return text === null || !text.includes('\0');
}
