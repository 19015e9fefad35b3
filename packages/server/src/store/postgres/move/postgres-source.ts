import { Fault } from '../../../core/nouns/fault.ts';
import { SECOND_MS } from '../../../core/nouns/instant.ts';
import { type Count, countOf } from '../../engine/sql.ts';
import { type RowOf, TABLE_NAMES, type TableName } from '../../engine/tables.ts';
import { type CopiedRow, PAGE_ROWS, type StoreSource } from '../../store-copy.ts';
import type { Ask } from '../wire/ask.ts';
import { hasTables, migrate } from '../wire/migrate.ts';
import { markMoved, refuseMoved } from '../wire/moved-mark.ts';
import { numberLinks } from '../write/number-links.ts';
import { DATABASE_NOW } from '../write/transaction.ts';
import { readTable } from './copied-rows.ts';
import { bePatient, type CopyConnection, type CopyOptions, connectForCopy } from './copy-connection.ts';

/** Servers report every second that they are alive. One that was silent for this long is gone. */
const SILENCE_MS = 30 * SECOND_MS;

/**
 * Every change locks a row of one of these tables first. The snapshot is taken with the first query after
 * this, so it includes whatever was done before the locks were granted.
 */
const BEGIN = [
  'BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE',
  'SET LOCAL lock_timeout = 5000',
  'LOCK TABLE server, license IN EXCLUSIVE MODE',
];

const FIND_RUNNING = `SELECT count(*) AS count, string_agg(DISTINCT hostname, ', ') AS hosts
  FROM server_instance WHERE seen_at > ${DATABASE_NOW} - ${SILENCE_MS}`;

/** Opens the data in a database to be moved elsewhere. */
export function openPostgresSource(options: CopyOptions): Promise<StoreSource> {
  return openSource(options, async (copy) => {
    await prepare(copy);
    for (const text of BEGIN) await copy.ask(text);
    await bePatient(copy.ask);
    await refuseRunning(copy.ask);
  });
}

/** Opens the data of running servers as of one moment. They do not notice. */
export function openPostgresSnapshot(options: CopyOptions): Promise<StoreSource> {
  return openSource(options, async (copy) => {
    await numberLinks(copy.connection);
    await copy.ask('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    await bePatient(copy.ask);
  });
}

async function openSource(
  options: CopyOptions,
  begin: (copy: CopyConnection) => Promise<void>,
): Promise<StoreSource> {
  const copy = await connectForCopy(options);
  try {
    await begin(copy);
    // With a wrong master key everything would fail later, with a message about the log.
    await copy.readKeys();
    const [row] = await copy.ask<Pick<RowOf<'server'>, 'identity'>>('SELECT identity FROM server');
    return sourceOf(copy, row?.identity ?? '');
  } catch (error) {
    await copy.close();
    throw error;
  }
}

/** Does what a server does when it starts: the newest links may have no number yet. */
async function prepare({ connection, ask, place }: CopyConnection): Promise<void> {
  if (!(await hasTables(connection))) {
    throw new Fault('store_unavailable', `There is no data of Berth in the database at ${place}.`);
  }
  await migrate(connection);
  await refuseMoved(ask);
  await refuseRunning(ask);
  await numberLinks(connection);
}

export async function refuseRunning(ask: Ask): Promise<void> {
  const [row] = await ask<Count & { readonly hosts: string | null }>(FIND_RUNNING);
  const count = countOf(row);
  if (count === 0) return;
  const servers = count === 1 ? 'A server uses' : `${count} servers use`;
  throw new Fault(
    'store_unavailable',
    `${servers} the database, or did so less than ${SILENCE_MS / SECOND_MS} seconds ago (${row?.hosts}). ` +
      'Stop all servers first, and try again.',
  );
}

function sourceOf(copy: CopyConnection, identity: string): StoreSource {
  const { ask } = copy;
  return {
    ...copy,
    identity,
    tables: TABLE_NAMES,
    async *listPages(table: TableName) {
      // One name for each table: a prepared statement must not come to mean other columns.
      const cursor = `copied_${table}`;
      await ask(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${readTable(table)}`);
      for (;;) {
        const page = await ask<CopiedRow>(`FETCH ${PAGE_ROWS} FROM ${cursor}`);
        if (page.length === 0) break;
        yield page;
      }
      await ask(`CLOSE ${cursor}`);
    },
    async markMoved(to) {
      await markMoved(ask, to);
      await ask('COMMIT');
    },
  };
}
