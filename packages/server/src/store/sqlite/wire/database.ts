import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { asFull } from './disk-full.ts';
import { foldLeftRenewals } from './fold-renewals.ts';
import { migrate, requireKnownSchema } from './migrate.ts';
import { readPragma, sqliteVersion } from './read-rows.ts';

/** Older releases can corrupt a database when a WAL is reset while it is being checkpointed. */
const OLDEST_SAFE_SQLITE = [3, 51, 3] as const;

/** How long a statement waits for a lock that another connection holds, in milliseconds. */
const BUSY_TIMEOUT_MS = 5000;

/** Room for the pages that renewals of 100,000 slots touch at random. */
const CACHE_KIB = 16_384;

/** What has to be done with the log of a file whose pages have checksums. */
interface KeptLog {
  settle(db: DatabaseSync): void;
  closeBroken(db: DatabaseSync): void;
}

/**
 * The one connection that writes. Settings on which durability rests are read back, not assumed. With `sums`,
 * the log is moved into the database only by them.
 */
export function openWritable(file: string, sums?: KeptLog): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
  try {
    requireSafeSqlite(db);
    requireKnownSchema(db);
    setAndVerify(db, 'journal_mode', 'WAL', 'wal');
    setAndVerify(db, 'synchronous', 'FULL', 2);
    db.exec(
      `PRAGMA cache_size = -${CACHE_KIB}; ${sums === undefined ? '' : 'PRAGMA wal_autocheckpoint = 0'}`,
    );
    migrate(db);
    foldLeftRenewals(db);
    if (sums === undefined) checkpoint(db);
    else sums.settle(db);
    return db;
  } catch (error) {
    if (sums === undefined) db.close();
    else sums.closeBroken(db);
    throw error;
  }
}

/**
 * Moves the write-ahead log into the database and starts a new one. What a crash left in the log can be read
 * but may not be on disk; later commits would be lost with it in a power cut.
 */
export function checkpoint(db: DatabaseSync): void {
  const row = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get();
  if (row?.busy !== 0)
    throw new Error('The write-ahead log could not be moved into the database: another connection reads it.');
}

/** For lists and reports: cannot write, and never blocks the writer. */
export function openReadOnly(file: string): DatabaseSync {
  return new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
}

/**
 * The same on a disk that is full, too. In such a file nobody can write, so it is read as it is, without the
 * files beside it, for which there is no room: `isFrozen`. What is written later is not seen.
 */
export function openForReading(file: string): { readonly db: DatabaseSync; readonly isFrozen: boolean } {
  const db = openReadOnly(file);
  try {
    readPragma(db, 'schema_version');
    return { db, isFrozen: false };
  } catch (error) {
    db.close();
    if (asFull(error, dirname(file)) === null || hasLog(file)) throw error;
    const url = pathToFileURL(file);
    url.searchParams.set('immutable', '1');
    return { db: new DatabaseSync(url, { readOnly: true }), isFrozen: true };
  }
}

/** What is only in the log cannot be read without the others. */
function hasLog(file: string): boolean {
  return (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

function setAndVerify(db: DatabaseSync, name: string, wanted: string, expected: string | number): void {
  db.exec(`PRAGMA ${name} = ${wanted}`);
  const actual = readPragma(db, name);
  if (actual !== expected) {
    throw new Error(
      `SQLite did not accept ${name} = ${wanted} (it says ${actual}). The data folder must be on a local ` +
        'file system that supports locking.',
    );
  }
}

function requireSafeSqlite(db: DatabaseSync): void {
  const version = sqliteVersion(db);
  if (isOlder(version.split('.').map(Number), OLDEST_SAFE_SQLITE)) {
    throw new Error(`SQLite ${version} is too old: Berth needs ${OLDEST_SAFE_SQLITE.join('.')} or newer.`);
  }
}

function isOlder(version: readonly number[], oldest: readonly number[]): boolean {
  for (const [index, part] of oldest.entries()) {
    const difference = (version[index] ?? 0) - part;
    if (difference !== 0) return difference < 0;
  }
  return false;
}
