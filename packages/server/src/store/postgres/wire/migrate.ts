import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { findBundledFile } from '@berth/shell/files/bundled-files';
import { Fault } from '../../../core/nouns/fault.ts';
import { MIGRATIONS, SCHEMA_VERSION } from '../../engine/migrations.ts';
import type { Connection } from './connection.ts';
import { toFault } from './database-error.ts';

/** The advisory lock ("BRTH") under which servers migrate one after the other. */
const MIGRATION_LOCK = 0x42525448;

/**
 * What the schema for our tables holds. Tables of extensions do not count. `elsewhere` is a schema further
 * back in the search path that has Berth's tables already.
 */
const LOOK = `
  SELECT current_schema() AS schema,
    (SELECT count(*) FROM pg_class c
      WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p')
        AND NOT EXISTS (SELECT 1 FROM pg_depend d
          WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')) AS tables,
    (SELECT count(*) FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = 'berth_schema') AS ours,
    (SELECT min(o.nspname::text) FROM pg_class c JOIN pg_namespace o ON o.oid = c.relnamespace
      WHERE c.relname = 'berth_schema' AND o.nspname <> current_schema()
        AND o.nspname = ANY (current_schemas(false))) AS elsewhere
  FROM (SELECT 1) AS one LEFT JOIN pg_namespace n ON n.nspname = current_schema()`;

/** Marks the schema as Berth's, so that no other is migrated by mistake. `applied_at` is for people. */
const CREATE_MARK = `
  CREATE TABLE berth_schema (version BIGINT PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())`;

interface Place {
  readonly schema: string | null;
  readonly tables: number;
  readonly ours: number;
  readonly elsewhere: string | null;
}

/**
 * Brings the schema up to date in one transaction. Servers that start together wait for the first one and
 * find the work done. The lock belongs to the transaction, so it also works behind a pooler.
 */
export async function migrate(connection: Connection): Promise<void> {
  // READ COMMITTED: a snapshot from before the lock would not show what others did meanwhile.
  await connection.query('BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE').catch(rethrow);
  try {
    // On a large database a step may take long.
    await connection.query('SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0');
    await connection.query('SELECT pg_advisory_xact_lock($1::bigint)', [MIGRATION_LOCK]);
    await applyMissing(connection);
    await connection.query('COMMIT');
  } catch (error) {
    await connection.query('ROLLBACK').catch(() => {});
    throw toFault(error);
  }
}

/** Creates all tables, within the caller's transaction; returns false if they are there already. */
export async function createTables(connection: Connection): Promise<boolean> {
  await connection.query('SELECT pg_advisory_xact_lock($1::bigint)', [MIGRATION_LOCK]);
  if (await hasTables(connection)) return false;
  await applyMissing(connection);
  return true;
}

/** Whether Berth has tables in the schema. */
export async function hasTables(connection: Connection): Promise<boolean> {
  return (await look(connection)).ours > 0;
}

/** Returns the schema's version. Throws for a database that this release must not touch. */
async function requireKnownSchema(connection: Connection): Promise<number> {
  const place = await look(connection);
  if (place.ours === 0) {
    refuseForeign(place);
    return 0;
  }
  const [row] = await connection.query<{ readonly version: number }>(
    'SELECT coalesce(max(version), 0) AS version FROM berth_schema',
  );
  const version = row?.version ?? 0;
  if (version > SCHEMA_VERSION) {
    throw unusable(
      `The data was written by a newer Berth (schema ${version}; this one knows ${SCHEMA_VERSION}). ` +
        'Start the newer version, or restore a backup from before the upgrade.',
    );
  }
  return version;
}

async function look(connection: Connection): Promise<Place> {
  const [place] = await connection.query(LOOK);
  return place as unknown as Place;
}

function refuseForeign({ schema, tables, elsewhere }: Place): void {
  if (schema === null)
    throw unusable(
      'There is no schema to work in. Create one that the search_path of the database user names.',
    );
  if (elsewhere !== null)
    throw unusable(
      `The search_path of the database user begins with the schema '${schema}', but Berth's data is in ` +
        `'${elsewhere}'. Put that one first.`,
    );
  if (tables > 0)
    throw unusable(
      `The schema '${schema}' of the database has tables that were not created by Berth. They were left ` +
        'alone. Give Berth a database of its own.',
    );
}

async function applyMissing(connection: Connection): Promise<void> {
  const version = await requireKnownSchema(connection);
  if (version === 0) await connection.query(CREATE_MARK);
  for (const [index, name] of MIGRATIONS.entries()) {
    if (index >= version) await applyMigration(connection, name, index + 1);
  }
}

async function applyMigration(connection: Connection, name: string, version: number): Promise<void> {
  await connection.query(readMigration(name));
  if (version === 1) await createServerRow(connection);
  await connection.query('INSERT INTO berth_schema (version) VALUES ($1)', [version]);
}

function readMigration(name: string): string {
  const bundled = findBundledFile(`server/src/store/postgres/migrations/${name}`);
  return bundled ?? readFileSync(new URL(`../migrations/${name}`, import.meta.url), 'utf8');
}

/** The identity is random and never changes. All servers on the database share it. */
async function createServerRow(connection: Connection): Promise<void> {
  await connection.query('INSERT INTO server (id, identity, audit_mac) VALUES (1, $1, $2)', [
    randomBytes(16).toString('hex'),
    new Uint8Array(0),
  ]);
}

function unusable(message: string): Fault {
  return new Fault('store_unavailable', message);
}

function rethrow(error: unknown): never {
  throw toFault(error);
}
