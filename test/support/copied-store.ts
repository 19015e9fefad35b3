import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import type { MasterKey } from '../../packages/server/src/secrets/seal.ts';
import {
  anchorMac,
  EMPTY_HEAD,
  headDigest,
  SYSTEM_CHAIN,
  sumHeads,
} from '../../packages/server/src/store/engine/audit-chain.ts';
import type { Connection } from '../../packages/server/src/store/postgres/connection.ts';
import { listHeads } from '../../packages/server/src/store/sqlite/audit-ledger.ts';
import { loadAuditKey } from '../../packages/server/src/store/sqlite/sealed-secrets.ts';

type SqliteRow = Record<string, SQLOutputValue>;

/**
 * Writes everything that a SQLite file holds into an empty PostgreSQL database with the same tables, so that
 * both can be asked the same.
 */
export async function copyToPostgres(
  file: string,
  connection: Connection,
  masterKey: MasterKey,
): Promise<void> {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    await connection.query('DELETE FROM server');
    for (const table of listTables(db)) await copyTable(db, connection, table);
    await connection.query(
      'UPDATE audit_order SET last_seq = coalesce((SELECT max(seq) FROM audit_link), 0)',
    );
    await anchorChains(connection, db, loadAuditKey(db, masterKey));
  } finally {
    db.close();
  }
}

function listTables(db: DatabaseSync): readonly string[] {
  const sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'";
  return db
    .prepare(sql)
    .all()
    .map(({ name }) => name as string);
}

async function copyTable(db: DatabaseSync, connection: Connection, table: string): Promise<void> {
  const order = table === 'audit_link' ? 'ORDER BY seq' : '';
  const rows = db.prepare(`SELECT * FROM "${table}" ${order}`).all();
  await Promise.all(rows.map((row) => insert(connection, table, row)));
}

function insert(connection: Connection, table: string, row: SqliteRow): Promise<unknown> {
  const columns = Object.keys(row).map((name) => `"${name}"`);
  const places = columns.map((_, index) => `$${index + 1}`);
  const text = `INSERT INTO "${table}" (${columns.join(', ')}) VALUES (${places.join(', ')})`;
  return connection.query(text, Object.values(row));
}

/** SQLite has one anchor for all chains, PostgreSQL one for each. */
async function anchorChains(connection: Connection, db: DatabaseSync, key: Uint8Array): Promise<void> {
  const heads = listHeads(db);
  for (const [chain, head] of heads) {
    const anchor = headDigest(key, chain, head);
    if (chain === SYSTEM_CHAIN) await connection.query('UPDATE server SET audit_anchor = $1', [anchor]);
    else await connection.query('UPDATE license SET audit_anchor = $1 WHERE id = $2', [anchor, chain]);
  }
  const licenses = [...heads.keys()].filter((chain) => chain !== SYSTEM_CHAIN);
  const sum = sumHeads(
    key,
    licenses.map((chain) => [chain, EMPTY_HEAD] as const),
  );
  const vouching = anchorMac(key, { links: licenses.length, heads: sum.heads });
  await connection.query('UPDATE server SET audit_chains = $1', [vouching]);
}
