import { Fault } from '../../../core/nouns/fault.ts';
import { headDigest, SYSTEM_CHAIN } from '../../engine/audit/audit-chain.ts';
import { type RowOf, TABLE_NAMES, type TableName } from '../../engine/tables.ts';
import type { AuditVerdict } from '../../query.ts';
import type { CopiedRow, RowCounts, StoreTarget } from '../../store-copy.ts';
import { bePatient, type CopyConnection, type CopyOptions, connectForCopy } from '../wire/copy-connection.ts';
import { toFault } from '../wire/database-error.ts';
import { createTables } from '../wire/migrate.ts';
import { chainsMac } from '../write/audit-ledger.ts';
import { countRows, insertRows, readHead } from './copied-rows.ts';
import { isMoved } from './moved-mark.ts';

/** Opens a database to move data there: its tables are created in the same transaction as their rows. */
export async function openPostgresTarget(options: CopyOptions): Promise<StoreTarget> {
  const copy = await connectForCopy(options);
  try {
    await copy.ask('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE');
    await bePatient(copy.ask);
    return new PostgresTarget(copy, await findOrCreate(copy));
  } catch (error) {
    await copy.connection.close();
    throw toFault(error);
  }
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

class PostgresTarget implements StoreTarget {
  readonly place: string;
  readonly identity: string | null;
  readonly #copy: CopyConnection;

  constructor(copy: CopyConnection, identity: string | null) {
    this.place = copy.place;
    this.identity = identity;
    this.#copy = copy;
  }

  async addRows(table: TableName, rows: readonly CopiedRow[]): Promise<void> {
    const { text, values } = insertRows(table, rows);
    await this.#copy.ask(text, values);
  }

  async anchorChains(): Promise<void> {
    const { ask } = this.#copy;
    for (const text of COMPLETE) await ask(text);
    const { audit } = await this.#copy.readKeys();
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
  }

  verifyAudit(): Promise<AuditVerdict> {
    return this.#copy.verifyAudit();
  }

  countRows(): Promise<RowCounts> {
    return countRows(this.#copy.ask);
  }

  readHead(): Promise<string> {
    return readHead(this.#copy.ask);
  }

  async commit(): Promise<void> {
    await this.#copy.ask('COMMIT');
  }

  /** Closing the connection rolls back what was not committed. */
  async close(): Promise<void> {
    await this.#copy.connection.close();
  }
}
