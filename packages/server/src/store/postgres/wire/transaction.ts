import type { PostgresRowOf } from '../../engine/tables.ts';
import type { Sql } from '../write/bulk-writes.ts';
import type { HeldRow } from '../write/row-table.ts';
import type { Scope } from '../write/scope.ts';
import type { Sender } from '../write/working-set.ts';
import type { Connection } from './connection.ts';

/**
 * How long a transaction waits for a lock, how long one statement may take, and how long we may say nothing.
 */
const LOCK_TIMEOUT_MS = 5000;
const STATEMENT_TIMEOUT_MS = 15_000;
/** A server that is stopped in the middle of a transaction loses its locks before others give up waiting. */
const SILENCE_TIMEOUT_MS = 3000;

/**
 * Ways to read whole tables. A plan that was made while a table was small is used until the database has
 * looked at the table again, a minute later or never: a table that grew meanwhile would be read whole.
 */
const WHOLE_TABLE = ['enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin'];

/** Behind a pooler nothing can be set for longer than a transaction. */
const LIMITS = {
  text: `SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true),
    set_config('idle_in_transaction_session_timeout', $3, true),
    ${WHOLE_TABLE.map((name) => `set_config('${name}', 'off', true)`)}`,
  values: [LOCK_TIMEOUT_MS, STATEMENT_TIMEOUT_MS, SILENCE_TIMEOUT_MS].map(String),
};

/** The database's clock, in milliseconds. Not that of the statement or transaction, which had to wait. */
export const DATABASE_NOW = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** With a parameter: the driver prepares nothing that has none, so that it is planned anew each time. */
const READ_FACTS = `SELECT ${DATABASE_NOW} AS wall, revision, alive_at FROM server WHERE id = $1`;
type Facts = Pick<PostgresRowOf<'server'>, 'revision' | 'alive_at'> & { readonly wall: number };
const LOCK_SERVER = 'SELECT * FROM server WHERE id = 1 FOR NO KEY UPDATE';
const LIST_LICENSES = 'SELECT * FROM license ORDER BY id';
const LOCK_ALL = `${LIST_LICENSES} FOR NO KEY UPDATE`;
const LOCK_SOME = 'SELECT * FROM license WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE';

/** Bounds what the transaction that was just begun may take. */
export function setLimits(sender: Sender): Promise<unknown> {
  return sender.query(LIMITS.text, LIMITS.values);
}

type ServerRow = PostgresRowOf<'server'>;
type LicenseRow = PostgresRowOf<'license'>;

/** What a transaction found when it had its locks. */
export interface Opened {
  /** `null`: it is not locked. */
  readonly server: ServerRow | null;
  readonly licenses: readonly LicenseRow[];
  readonly wall: number;
  readonly revision: number;
  /** When a server was last alive; `null`: none ever was. */
  readonly aliveAt: number | null;
  /** One for each question. */
  readonly answers: readonly (readonly HeldRow[])[];
}

/**
 * Begins, locks, and asks: one way to the database and back. Every statement sees what was committed before
 * it began, so the questions, which come after the locks, see all that those who held them have done.
 */
export async function begin(sender: Sender, scope: Scope, questions: readonly Sql[]): Promise<Opened> {
  const ask = ({ text, values }: Sql) => sender.query<HeldRow>(text, values);
  const sent = [sender.query('BEGIN ISOLATION LEVEL READ COMMITTED', []), setLimits(sender)];
  const server = scope.server ? sender.query<ServerRow>(LOCK_SERVER, []) : null;
  const licenses = lockLicenses(sender, scope.licenses);
  const facts = sender.query<Facts>(READ_FACTS, [1]);
  const answers = questions.map(ask);
  await Promise.all([...sent, server, licenses, facts, ...answers]);
  const [row] = (await facts) as readonly [Facts];
  return {
    server: (await server)?.[0] ?? null,
    licenses: await licenses,
    wall: row.wall,
    revision: row.revision,
    aliveAt: row.alive_at,
    answers: await Promise.all(answers),
  };
}

async function lockLicenses(sender: Sender, licenses: Scope['licenses']): Promise<readonly LicenseRow[]> {
  if (licenses === 'heads') return sender.query(LIST_LICENSES, []);
  if (licenses === 'all') return sender.query(LOCK_ALL, []);
  return licenses.length === 0 ? [] : sender.query(LOCK_SOME, [licenses]);
}

/** Ends a transaction that has changed nothing, or is to have changed nothing. */
export async function rollBack(connection: Connection): Promise<void> {
  if (connection.isDead) return;
  try {
    await connection.query('ROLLBACK');
  } catch {
    // Nobody may go on with it.
    await connection.close();
  }
}
