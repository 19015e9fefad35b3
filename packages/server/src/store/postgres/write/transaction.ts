import type { PostgresRowOf } from '../../engine/tables.ts';
import type { Connection } from '../wire/connection.ts';
import type { Sender, Sql } from './bulk-writes.ts';
import type { HeldRow } from './row-table.ts';
import type { Scope } from './scope.ts';

const LOCK_TIMEOUT_MS = 5000;
/** Servers hold locks for milliseconds. Who holds one for longer hangs, and others must not wait for it. */
const MIXED_LOCK_TIMEOUT_MS = 500;
const STATEMENT_TIMEOUT_MS = 15_000;
/** A server that is stopped in a transaction loses its locks before others give up waiting for them. */
const SILENCE_TIMEOUT_MS = 3000;

/**
 * Plans that read whole tables, or sort all slots of a license. PostgreSQL keeps a plan made while a table
 * was small until it analyzes the table again, a minute later or never; meanwhile the table may have grown.
 */
const TOO_MUCH = [
  'enable_seqscan',
  'enable_bitmapscan',
  'enable_hashjoin',
  'enable_mergejoin',
  'enable_sort',
];

/**
 * Only for the transaction: behind a pooler the session belongs to others too. One plan serves lists of any
 * length.
 */
const LIMITS = {
  statement_timeout: STATEMENT_TIMEOUT_MS,
  idle_in_transaction_session_timeout: SILENCE_TIMEOUT_MS,
  plan_cache_mode: 'force_generic_plan',
  ...Object.fromEntries(TOO_MUCH.map((name) => [name, 'off'])),
};

const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED';
const LIMIT = `SELECT set_config('lock_timeout', $1, true)${Object.entries(LIMITS)
  .map(([name, value]) => `, set_config('${name}', '${value}', true)`)
  .join('')}`;

/** The database's clock in milliseconds; not the start of the transaction, which may have waited. */
export const DATABASE_NOW = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

type Facts = Pick<PostgresRowOf<'server'>, 'revision' | 'alive_at'> & { readonly wall: number };
const READ_FACTS = `SELECT ${DATABASE_NOW} AS wall, revision, alive_at FROM server WHERE id = $1`;
const LOCK_SERVER = 'SELECT * FROM server WHERE id = 1 FOR NO KEY UPDATE';
const LIST_LICENSES = 'SELECT * FROM license ORDER BY id';
const LOCK_ALL = `${LIST_LICENSES} FOR NO KEY UPDATE`;
const LOCK_ONE = 'SELECT * FROM license WHERE id = $1 FOR NO KEY UPDATE';
const LOCK_SOME = 'SELECT * FROM license WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE';

/** Begins a transaction that is limited in how long it may take and wait, as all that lock licenses are. */
export function beginLimited(sender: Sender, lockTimeoutMs = LOCK_TIMEOUT_MS): Promise<unknown> {
  return Promise.all([sender.query(BEGIN, []), sender.query(LIMIT, [lockTimeoutMs])]);
}

type ServerRow = PostgresRowOf<'server'>;
type LicenseRow = PostgresRowOf<'license'>;

/** What a transaction reads once it has its locks. */
export interface Opened {
  /** `null` if it is not locked. */
  readonly server: ServerRow | null;
  readonly licenses: readonly LicenseRow[];
  readonly wall: number;
  readonly revision: number;
  /** When a server was last alive; `null` if none ever was. */
  readonly aliveAt: number | null;
  /** One for each of the queries. */
  readonly answers: readonly (readonly HeldRow[])[];
}

/** What a transaction begins with. */
interface Beginning {
  readonly scope: Scope;
  /** Sent after the locks. */
  readonly queries?: readonly Sql[];
  /** Its commands could also do without each other, so they do not wait long for a lock. */
  readonly isMixed?: boolean;
}

/**
 * Begins, locks and queries in one round trip. In READ COMMITTED each statement sees what was committed
 * before it began, so the queries, sent after the locks, see everything that earlier holders have done.
 */
export async function begin(
  connection: Connection,
  { scope, queries = [], isMixed = false }: Beginning,
): Promise<Opened> {
  const [, servers, licenses, facts, ...answers] = await connection.together(() =>
    Promise.all([
      beginLimited(connection, isMixed ? MIXED_LOCK_TIMEOUT_MS : LOCK_TIMEOUT_MS),
      scope.server ? connection.query<ServerRow>(LOCK_SERVER) : [],
      lockLicenses(connection, scope.licenses),
      connection.query<Facts>(READ_FACTS, [1]),
      ...ask(connection, queries),
    ]),
  );
  const { wall, revision, alive_at: aliveAt } = facts[0] as Facts;
  return { server: servers[0] ?? null, licenses, wall, revision, aliveAt, answers };
}

/** Asks more in the same transaction. */
export function readTogether(
  connection: Connection,
  queries: readonly Sql[],
): Promise<readonly (readonly HeldRow[])[]> {
  return connection.together(() => Promise.all(ask(connection, queries)));
}

function ask(sender: Sender, queries: readonly Sql[]): readonly Promise<readonly HeldRow[]>[] {
  return queries.map(({ text, values }) => sender.query<HeldRow>(text, values));
}

async function lockLicenses(sender: Sender, licenses: Scope['licenses']): Promise<readonly LicenseRow[]> {
  if (licenses === 'heads') return sender.query(LIST_LICENSES, []);
  if (licenses === 'all') return sender.query(LOCK_ALL, []);
  const [only, ...others] = licenses;
  if (only === undefined) return [];
  return others.length === 0 ? sender.query(LOCK_ONE, [only]) : sender.query(LOCK_SOME, [licenses]);
}

/** Ends a transaction without changing anything. */
export async function rollBack(connection: Connection): Promise<void> {
  if (connection.isDead) return;
  try {
    await connection.query('ROLLBACK');
  } catch {
    // Its state is unknown, so nobody may use it again.
    await connection.close();
  }
}
