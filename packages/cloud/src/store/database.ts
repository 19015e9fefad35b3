import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { findBundledFile } from '@berth/shell/files/bundled-files';

/** In order; the number of a migration is its position. Released migrations never change; only append. */
const MIGRATIONS = ['0001-schema.sql'] as const;

export const SCHEMA_VERSION = MIGRATIONS.length;

/** Identifies our database files ("BCLD"), so that no other database is migrated by mistake. */
const APPLICATION_ID = 0x42434c44;

/** How long a statement waits for another process, such as a command next to the running cloud. */
const BUSY_TIMEOUT_MS = 5000;

/** Opens or creates the file, which other processes may have open too. */
export function openDatabase(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
  try {
    requireKnownSchema(db);
    setAndVerify(db, 'journal_mode', 'WAL', 'wal');
    setAndVerify(db, 'synchronous', 'FULL', 2);
    migrate(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** A file that this release must not change. The message is for users. */
export class ForeignDatabase extends Error {}

function requireKnownSchema(db: DatabaseSync): void {
  const version = readPragma(db, 'user_version') as number;
  const isEmpty = version === 0 && db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
  if (!isEmpty && readPragma(db, 'application_id') !== APPLICATION_ID) {
    throw new ForeignDatabase('The database file was not written by this cloud. It was not changed.');
  }
  requireKnownVersion(version);
}

/** Again in every transaction: a newer command line may migrate the file of a running cloud. */
export function requireKnownVersion(version: number): void {
  if (version <= SCHEMA_VERSION) return;
  throw new ForeignDatabase(
    `The data was written by a newer cloud (schema ${version}; this one knows ${SCHEMA_VERSION}). ` +
      'Start the newer version, or restore a backup from before the upgrade.',
  );
}

/** Verifies the settings that durability depends on. */
function setAndVerify(db: DatabaseSync, name: string, wanted: string, expected: string | number): void {
  if (readPragma(db, name) === expected) return;
  db.exec(`PRAGMA ${name} = ${wanted}`);
  const actual = readPragma(db, name);
  if (actual !== expected) throw new Error(`SQLite did not accept ${name} = ${wanted} (it is ${actual}).`);
}

function readPragma(db: DatabaseSync, name: string): unknown {
  const row = db.prepare(`PRAGMA ${name}`).get();
  return row === undefined ? undefined : Object.values(row)[0];
}

/** Another process may be migrating too, so the missing steps are determined inside the transaction. */
function migrate(db: DatabaseSync): void {
  if (readPragma(db, 'user_version') === MIGRATIONS.length) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    const version = readPragma(db, 'user_version') as number;
    for (const name of MIGRATIONS.slice(version)) {
      db.exec(readMigration(name));
    }
    if (version === 0) createCloudRow(db);
    db.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    db.exec('COMMIT');
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}

function readMigration(name: string): string {
  const bundled = findBundledFile(`cloud/src/store/migrations/${name}`);
  return bundled ?? readFileSync(new URL(`./migrations/${name}`, import.meta.url), 'utf8');
}

/** Version 0.1.0 counted ids from `next_id`; see `takeId`. */
function createCloudRow(db: DatabaseSync): void {
  db.exec('INSERT INTO cloud (id, next_id) VALUES (1, 0)');
}
