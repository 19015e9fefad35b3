import { existsSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { renameDurably } from '@berth/shell/files/durable-file';
import { loadMasterKey, type MasterKeySource } from '../../../secrets/master-key.ts';
import { pickValues, ROW_SQL } from '../../engine/row-sql.ts';
import { columnsOf, type RowOf, type TableName } from '../../engine/tables.ts';
import { DATABASE_FILE } from '../../folder-access.ts';
import type { StoreTarget } from '../../store-copy.ts';
import { explainFailure } from '../data-folder.ts';
import { verifySnapshot } from '../read/verify-audit.ts';
import { checkpoint, openReadOnly, openWritable } from '../wire/database.ts';
import { countRows, readHead } from '../wire/describe-contents.ts';
import { forgetMoved, isMoved } from '../wire/moved-mark.ts';
import { removeSums } from '../wire/page-sums.ts';
import { findRow, prepare } from '../wire/read-rows.ts';
import { loadAuditKey, loadIdentityKey } from '../wire/sealed-secrets.ts';
import { anchorAll } from '../write/audit-ledger.ts';

interface SqliteTargetOptions {
  /** Callers must hold its lock. */
  readonly folder: string;
  /** Of the data that is moved here. */
  readonly masterKey: MasterKeySource;
}

/** Opens a folder to move data there. */
export function openSqliteTarget(options: SqliteTargetOptions): StoreTarget {
  try {
    const file = join(options.folder, DATABASE_FILE);
    if (!existsSync(file)) return openDraft(options);
    refuseOld(options.folder);
    return targetOf(openReadOnly(file), partsOf(options));
  } catch (error) {
    throw explainFailure(error, options.folder);
  }
}

/** Refuses data from before it was moved away: it must not be mistaken for what comes back. */
function refuseOld(folder: string): void {
  if (!isMoved(folder)) return;
  throw new Error(`${folder} still has the data from before it was moved. Move ${DATABASE_FILE} away first.`);
}

const BESIDE = ['', '-wal', '-shm', '-journal'];

function draftOf(folder: string): string {
  return join(folder, `${DATABASE_FILE}.new`);
}

/** Removes what an interrupted attempt left. */
function removeDraft(folder: string): void {
  for (const suffix of BESIDE) rmSync(`${draftOf(folder)}${suffix}`, { force: true });
}

/** Under another name, so that nobody mistakes incomplete data for all of it. */
function openDraft(options: SqliteTargetOptions): StoreTarget {
  removeDraft(options.folder);
  return targetOf(openEmpty(draftOf(options.folder)), partsOf(options));
}

function openEmpty(file: string): DatabaseSync {
  const db = openWritable(file);
  db.exec('BEGIN IMMEDIATE');
  db.exec('DELETE FROM server');
  return db;
}

/** A new file, which stays where it is. */
export function openFileTarget(file: string, masterKey: MasterKeySource): StoreTarget {
  return targetOf(openEmpty(file), { place: file, masterKey, finish: () => {}, abandon: () => {} });
}

interface TargetParts {
  readonly place: string;
  readonly masterKey: MasterKeySource;
  /** Everything is in one file now. */
  finish(): void;
  abandon(): void;
}

function partsOf({ folder, masterKey }: SqliteTargetOptions): TargetParts {
  return {
    // The mark that names this place may be read on another machine.
    place: `${folder} on ${hostname()}`,
    masterKey,
    finish() {
      // It is about data that is no longer in the folder.
      forgetMoved(folder);
      const file = join(folder, DATABASE_FILE);
      removeSums(file);
      renameDurably(draftOf(folder), file);
    },
    abandon: () => removeDraft(folder),
  };
}

/** Fills the columns that only this store has. */
const COMPLETE = ['UPDATE registration SET due_at = ends_at'];

function targetOf(db: DatabaseSync, { place, masterKey, finish, abandon }: TargetParts): StoreTarget {
  const server = findRow<Pick<RowOf<'server'>, 'identity'>>(db, 'SELECT identity FROM server');
  const loadKeys = () => {
    const key = loadMasterKey({ ...masterKey, mayCreate: false });
    return { audit: loadAuditKey(db, key), identity: loadIdentityKey(db, key) };
  };
  return {
    place,
    identity: server?.identity ?? null,
    addRows: (table: TableName, rows) =>
      attempt(() => {
        const columns = columnsOf(table);
        const insert = prepare(db, ROW_SQL[table].add.sql);
        for (const row of rows) insert.run(...pickValues(row, columns));
      }),
    anchorChains: () =>
      attempt(() => {
        for (const text of COMPLETE) db.exec(text);
        anchorAll(db, loadKeys().audit);
      }),
    verifyAudit: () => attempt(() => verifySnapshot(db, loadKeys())),
    countRows: () => attempt(() => countRows(db)),
    readHead: () => attempt(() => readHead(db)),
    /** Everything is in one file before that gets its name. */
    commit: () =>
      attempt(() => {
        db.exec('COMMIT');
        checkpoint(db);
        db.close();
        finish();
      }),
    async close() {
      if (db.isOpen) db.close();
      abandon();
    },
  };
}

async function attempt<T>(work: () => T): Promise<T> {
  try {
    return work();
  } catch (error) {
    throw explainFailure(error);
  }
}
