import { Fault } from '../../../core/nouns/fault.ts';
import { headDigest, SYSTEM_CHAIN } from '../../engine/audit/audit-chain.ts';
import { HOLDINGS_SQL } from '../../engine/holdings.ts';
import { type PostgresRowOf, type RowOf, TABLE_NAMES, type TableName } from '../../engine/tables.ts';
import type { Holdings, StoreTarget } from '../../store-copy.ts';
import type { Ask } from '../wire/ask.ts';
import { toFault } from '../wire/database-error.ts';
import { createTables, hasTables } from '../wire/migrate.ts';
import { isMoved } from '../wire/moved-mark.ts';
import { chainsMac } from '../write/audit-ledger.ts';
import { insertRows, readTable } from './copied-rows.ts';
import { bePatient, type CopyConnection, type CopyOptions, connectForCopy } from './copy-connection.ts';
import { refuseRunning } from './postgres-source.ts';

/** Opens a database to move data there: its tables are created in the same transaction as their rows. */
export function openPostgresTarget(options: CopyOptions): Promise<StoreTarget> {
  return begin(options, async (copy) => targetOf(copy, await findOrCreate(copy)));
}

async function begin<T>(options: CopyOptions, open: (copy: CopyConnection) => Promise<T>): Promise<T> {
  const copy = await connectForCopy(options);
  try {
    await copy.ask('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE');
    await bePatient(copy.ask);
    return await open(copy);
  } catch (error) {
    await copy.close();
    throw toFault(error);
  }
}

/** A database whose data is replaced, and what it had. */
interface ReplacedDatabase {
  readonly target: StoreTarget;
  /** `null`: it was empty. */
  readonly replaced: Holdings | null;
  /** The schema that keeps the old tables; `null`: there were none. */
  readonly kept: string | null;
}

/**
 * Opens a database to restore data there. The old tables move to a schema of their own, in the same
 * transaction as everything else.
 */
export function openPostgresReplacing(options: CopyOptions, stamp: string): Promise<ReplacedDatabase> {
  return begin(options, async (copy) => {
    const old = (await hasTables(copy.connection)) ? await putOldAside(copy, stamp) : null;
    await createTables(copy.connection);
    await copy.ask('DELETE FROM server');
    const target = targetOf(copy, null, (old?.revision ?? 0) + 1);
    return { target, replaced: old?.holdings ?? null, kept: old?.schema ?? null };
  });
}

/** Tables of extensions stay where they are. */
const LIST_TABLES = `SELECT c.relname::text AS name FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND NOT EXISTS (SELECT 1 FROM pg_depend d
    WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')`;

async function putOldAside({ ask }: CopyConnection, stamp: string) {
  await ask("SELECT set_config('lock_timeout', '5000', true)");
  await ask('LOCK TABLE server, license IN ACCESS EXCLUSIVE MODE');
  if (await isMoved(ask)) throw new Fault('store_unavailable', OLD);
  await refuseRunning(ask);
  const [server] = await ask<Pick<PostgresRowOf<'server'>, 'revision'>>('SELECT revision FROM server');
  const holdings = await readHoldings(ask);
  const schema = `berth_replaced_${stamp.toLowerCase()}`;
  await ask(`CREATE SCHEMA ${schema}`);
  for (const { name } of await ask<{ readonly name: string }>(LIST_TABLES)) {
    await ask(`ALTER TABLE "${name}" SET SCHEMA ${schema}`);
  }
  return { schema, holdings, revision: server?.revision ?? 0 };
}

async function readHoldings(ask: Ask): Promise<Holdings> {
  const [server] = await ask<Pick<RowOf<'server'>, 'identity' | 'mark'>>(readTable('server'));
  return {
    identity: server?.identity ?? '',
    mark: server?.mark ?? null,
    licenses: await ask(HOLDINGS_SQL.licenses),
    removed: await ask(HOLDINGS_SQL.removed),
    borrows: await ask(HOLDINGS_SQL.borrows),
    totals: await ask(HOLDINGS_SQL.totals),
  };
}

const OLD = 'The database still has the data from before it was moved away. Choose an empty one.';

/** Returns the identity of what is there; `null`: nothing was, and now there are empty tables. */
async function findOrCreate({ connection, ask }: CopyConnection): Promise<string | null> {
  if (await createTables(connection)) {
    await ask('DELETE FROM server');
    return null;
  }
  if (await isMoved(ask)) throw new Fault('store_unavailable', OLD);
  const [row] = await ask<Pick<RowOf<'server'>, 'identity'>>('SELECT identity FROM server');
  return row?.identity ?? '';
}

/**
 * Fills the columns that only this store has: no server was alive after the last time used, on any license.
 * Without statistics, the first queries on large tables would be slow.
 */
const COMPLETE = [
  'UPDATE server SET alive_at = mark',
  'UPDATE license SET mark = coalesce((SELECT mark FROM server), 0)',
  'UPDATE audit_order SET last_seq = coalesce((SELECT max(seq) FROM audit_link), 0)',
  `ANALYZE ${TABLE_NAMES.join(', ')}`,
];

const ANCHOR_LICENSES = `UPDATE license SET audit_anchor = given.anchor
  FROM unnest($1::bigint[], $2::bytea[]) AS given (id, anchor) WHERE license.id = given.id`;

type HeadRow = Pick<RowOf<'server'>, 'audit_n' | 'audit_mac'> & { readonly chain: number };

function anchorOf(key: Uint8Array, { chain, audit_n: n, audit_mac: mac }: HeadRow): Uint8Array {
  return headDigest(key, chain, { n, mac });
}

/** `revision`: a server that was only silent notices a new one with its next transaction. */
function targetOf(copy: CopyConnection, identity: string | null, revision = 0): StoreTarget {
  const { ask } = copy;
  return {
    ...copy,
    identity,
    async addRows(table: TableName, rows) {
      const { text, values } = insertRows(table, rows);
      await ask(text, values);
    },
    async anchorChains() {
      for (const text of COMPLETE) await ask(text);
      await ask('UPDATE server SET revision = $1', [revision]);
      const { audit } = await copy.readKeys();
      const licenses = await ask<HeadRow>('SELECT id AS chain, audit_n, audit_mac FROM license');
      const [server] = await ask<HeadRow>(
        `SELECT ${SYSTEM_CHAIN}::bigint AS chain, audit_n, audit_mac FROM server`,
      );
      const chains = licenses.map(({ chain }) => chain);
      await ask(ANCHOR_LICENSES, [chains, licenses.map((row) => anchorOf(audit, row))]);
      await ask('UPDATE server SET audit_anchor = $1, audit_chains = $2', [
        anchorOf(audit, server as HeadRow),
        chainsMac(audit, chains),
      ]);
    },
    async commit() {
      await ask('COMMIT');
    },
  };
}
