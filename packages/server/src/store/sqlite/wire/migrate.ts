import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { findBundledFile } from '@berth/shell/files/bundled-files';
import { MIGRATIONS, SCHEMA_VERSION } from '../../engine/migrations.ts';
import { readPragma } from './read-rows.ts';

/** Marks the file as ours ("BRTH"), so that no other database is ever migrated by mistake. */
const APPLICATION_ID = 0x42525448;

/** What the header of a database file says. */
interface FileMarks {
  readonly applicationId: number;
  readonly version: number;
  isEmpty(): boolean;
}

/** Throws for files that this release must not touch. */
export function requireKnownFile({ applicationId, version, isEmpty }: FileMarks): void {
  if (applicationId !== APPLICATION_ID && (version !== 0 || !isEmpty()))
    throw new Error('The database file was not written by Berth. It was left alone.');
  if (version > SCHEMA_VERSION) {
    throw new Error(
      `The data was written by a newer Berth (schema ${version}; this one knows ${SCHEMA_VERSION}). ` +
        'Start the newer version, or restore a backup from before the upgrade.',
    );
  }
}

/** The same for an open file. Call it before settings are written. */
export function requireKnownSchema(db: DatabaseSync): void {
  requireKnownFile({
    applicationId: readPragma(db, 'application_id') as number,
    version: readPragma(db, 'user_version') as number,
    isEmpty: () => db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined,
  });
}

/** Brings the schema up to date in one transaction: a start that is interrupted leaves the data as it was. */
export function migrate(db: DatabaseSync): void {
  const version = readPragma(db, 'user_version') as number;
  if (version === SCHEMA_VERSION) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    for (const name of MIGRATIONS.slice(version)) applyMigration(db, name);
    db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    db.exec('COMMIT');
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}

function applyMigration(db: DatabaseSync, name: (typeof MIGRATIONS)[number]): void {
  db.exec(readMigration(name));
  if (name === MIGRATIONS[0]) createServerRow(db);
}

function readMigration(name: string): string {
  const bundled = findBundledFile(`server/src/store/sqlite/migrations/${name}`);
  return bundled ?? readFileSync(new URL(`../migrations/${name}`, import.meta.url), 'utf8');
}

/** The identity of the server is random and never changes. */
function createServerRow(db: DatabaseSync): void {
  db.prepare('INSERT INTO server (id, identity, audit_mac) VALUES (1, ?, ?)').run(
    randomBytes(16).toString('hex'),
    new Uint8Array(0),
  );
}
