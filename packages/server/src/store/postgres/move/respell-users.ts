import { DOWNTIME_MS } from '../../../core/clock/clock.ts';
import { Fault } from '../../../core/nouns/fault.ts';
import { bucketStart, instant, MINUTE_MS } from '../../../core/nouns/instant.ts';
import { HISTORY_STATEMENTS } from '../../engine/history/history-sql.ts';
import {
  FORGET_COUNTS,
  LIST_SPELLINGS,
  type NameTable,
  planRespelling,
  type Respelling,
  type SpellingRow,
  TO_FOLDED_NAMES,
  toSpelledNames,
  type UserRow,
} from '../../engine/respell-users.ts';
import { type Count, countOf } from '../../engine/sql.ts';
import { type RowOf, tableOf } from '../../engine/tables.ts';
import type { Connection } from '../wire/connection.ts';
import { withPlaces } from '../wire/places.ts';
import { DATABASE_NOW, rollBack } from '../write/transaction.ts';

/** Renames users within the caller's transaction. */
async function respellUsers(connection: Connection, respelling: Respelling): Promise<void> {
  for (const table of respelling.tables) await respellTable(connection, table, respelling);
}

async function respellTable(connection: Connection, table: NameTable, respelling: Respelling) {
  const { name } = table;
  const names = await connection.query<UserRow>(`SELECT DISTINCT "user" FROM ${name}`);
  const involved = respelling.listInvolved(names.map(({ user }) => user));
  if (involved.length === 0) return;
  const rows = await connection.query<UserRow>(
    `SELECT * FROM ${name} WHERE "user" IN (SELECT json_array_elements_text($1::text::json))`,
    [JSON.stringify(involved)],
  );
  const { removed, added } = planRespelling(table, rows, respelling);
  const given = `json_populate_recordset(NULL::${name}, $1::text::json)`;
  const matches = tableOf(name).key.map((column) => `${name}."${column}" = given."${column}"`);
  await connection.query(`DELETE FROM ${name} USING ${given} AS given WHERE ${matches.join(' AND ')}`, [
    JSON.stringify(removed),
  ]);
  await connection.query(`INSERT INTO ${name} SELECT * FROM ${given}`, [JSON.stringify(added)]);
}

const COUNT_SERVERS = `SELECT count(*) AS count FROM server_instance
  WHERE abs(seen_at - coalesce($1::bigint, ${DATABASE_NOW})) < $2::bigint`;

/**
 * Makes the store ignore case, or stop ignoring it, unless it does so already. Refuses while another server
 * is alive, because that one names users in the other way.
 */
export async function setIgnoresCase(
  connection: Connection,
  ignoresCase: boolean,
  wall: number | null,
): Promise<void> {
  await connection.query('BEGIN ISOLATION LEVEL READ COMMITTED');
  try {
    const [server] = await connection.query('SELECT ignores_case FROM server WHERE id = 1 FOR UPDATE');
    if ((server?.ignores_case === 1) !== ignoresCase) await rename(connection, ignoresCase, wall);
    await connection.query('COMMIT');
  } catch (error) {
    await rollBack(connection);
    throw error;
  }
}

async function rename(connection: Connection, ignoresCase: boolean, wall: number | null): Promise<void> {
  const [servers] = await connection.query<Count>(COUNT_SERVERS, [wall, DOWNTIME_MS]);
  if (countOf(servers) > 0) throw refuseWhileRunning(ignoresCase);
  await connection.query('SELECT id FROM license ORDER BY id FOR UPDATE');
  if (ignoresCase) await respellUsers(connection, TO_FOLDED_NAMES);
  else await respellUsers(connection, toSpelledNames(await connection.query<SpellingRow>(LIST_SPELLINGS)));
  await connection.query(FORGET_COUNTS);
  await connection.query('DELETE FROM place_count');
  await squareHistory(connection);
  await connection.query('UPDATE server SET ignores_case = $1, revision = revision + 1 WHERE id = 1', [
    ignoresCase ? 1 : 0,
  ]);
}

/** Slots were merged without a decision. */
async function squareHistory(connection: Connection): Promise<void> {
  const [server] = await connection.query<RowOf<'server'>>('SELECT mark FROM server WHERE id = 1');
  const minute = bucketStart(server?.mark ?? instant(0), MINUTE_MS);
  await connection.query(withPlaces(HISTORY_STATEMENTS.squareSlotHistory.sql).text, [minute]);
}

function refuseWhileRunning(ignoresCase: boolean): Fault {
  return new Fault(
    'store_unavailable',
    `users.ignoreCase is ${ignoresCase} here, and other servers on this database run with ` +
      `${!ignoresCase}. To change it, stop all of them, and start them with the same setting. One that was ` +
      'killed counts for 30 seconds.',
  );
}
