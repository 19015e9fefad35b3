import type { Connection } from '../wire/connection.ts';

/** Most links numbered in one transaction: after a long pause there may be millions. */
const MAX_AT_ONCE = 10_000;

const LOCK_TIMEOUT_MS = 10_000;
const STATEMENT_TIMEOUT_MS = 30_000;
/** A server that is stopped in the middle must not keep the others from numbering. */
const SILENCE_TIMEOUT_MS = 3000;

/** A number this far ahead was written by somebody else, and is left alone. */
const FAR_AHEAD = 1_000_000_000;

/** In the order of the partial index of waiting links, so that PostgreSQL uses it. */
const FIND_WAITING = 'SELECT id FROM audit_link WHERE seq IS NULL ORDER BY id LIMIT 1';

const LIMIT_TIME = `SELECT set_config('lock_timeout', '${LOCK_TIMEOUT_MS}', true),
  set_config('statement_timeout', '${STATEMENT_TIMEOUT_MS}', true),
  set_config('idle_in_transaction_session_timeout', '${SILENCE_TIMEOUT_MS}', true)`;

/** Only the holder of this lock numbers links. It is held until the commit. */
const LOCK_ORDER = 'SELECT last_seq FROM audit_order WHERE id = 1 FOR UPDATE';

/**
 * A separate statement, so that it sees what was committed while it waited for the lock. It skips a number
 * that somebody else wrote a little ahead: otherwise no link would ever get a number again.
 */
const NUMBER_WAITING = `
  WITH start AS (
    SELECT greatest(last_seq, (SELECT max(seq) FROM audit_link
      WHERE seq <= (SELECT last_seq + ${FAR_AHEAD} FROM audit_order WHERE id = 1))) AS seq
    FROM audit_order WHERE id = 1
  ), waiting AS (
    SELECT chain, n, row_number() OVER (ORDER BY id) AS place FROM (
      SELECT chain, n, id FROM audit_link WHERE seq IS NULL ORDER BY id LIMIT ${MAX_AT_ONCE}) AS first
  ), numbered AS (
    UPDATE audit_link SET seq = start.seq + waiting.place FROM waiting, start
    WHERE audit_link.chain = waiting.chain AND audit_link.n = waiting.n
    RETURNING audit_link.seq
  )
  UPDATE audit_order SET last_seq = coalesce((SELECT max(seq) FROM numbered), last_seq) WHERE id = 1
  RETURNING (SELECT count(*) FROM numbered) AS count`;

/**
 * Numbers the links that were committed since the last time, in the order of writing, and returns how many.
 * The log is read by these numbers. If several servers gave them while writing, they would become visible out
 * of order, and a reader that continues from the last one it saw would miss a link.
 */
export async function numberLinks(connection: Connection): Promise<number> {
  let total = 0;
  const waiting = await connection.query(FIND_WAITING);
  if (waiting.length === 0) return total;
  for (;;) {
    const count = await numberSome(connection);
    total += count;
    if (count < MAX_AT_ONCE) return total;
  }
}

/** One round trip. If a statement fails, the COMMIT still ends the transaction. */
async function numberSome(connection: Connection): Promise<number> {
  const texts = [
    'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
    LIMIT_TIME,
    LOCK_ORDER,
    NUMBER_WAITING,
    'COMMIT',
  ];
  const answers = await Promise.allSettled(texts.map((text) => connection.query(text)));
  const failed = answers.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  const numbered = answers[texts.indexOf(NUMBER_WAITING)];
  return numbered?.status === 'fulfilled' ? (numbered.value[0]?.count as number) : 0;
}
