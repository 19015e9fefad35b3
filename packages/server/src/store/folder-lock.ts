import { lchownSync, lstatSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { readText } from '@berth/shell/files/file-sharing';
import { Fault } from '../core/nouns/fault.ts';
import { finishRestore } from './finish-restore.ts';
import { explainFolder } from './folder-access.ts';
import type { Store } from './store.ts';

export const LOCK_FILE = 'berth.lock';
/** Names the holder, for people. It does not show whether the lock is held. */
const HOLDER_FILE = 'berth.pid';
const SQLITE_BUSY = 5;

/** The right to use a data folder, held until it is released or the process ends. */
export interface FolderLock {
  release(): void;
}

/**
 * Locks the folder; returns `null` if another process has it. Every server has its own folder, wherever its
 * data is: its socket and its key are there. The lock is the operating system's, so it ends with the process,
 * however that ends. Node has no file locks of its own; SQLite does, on every system, so an empty database
 * that is never written serves as the lock file.
 */
export function lockFolder(folder: string): FolderLock | null {
  // Files that this process creates from here on are for their owner only.
  process.umask(0o077);
  try {
    const lock = takeLock(folder);
    const note = join(folder, HOLDER_FILE);
    writeNote(note);
    finishOrRelease(folder, lock);
    chownToFolderOwner(folder);
    return {
      release() {
        rmSync(note, { force: true });
        chownToFolderOwner(folder);
        lock.release();
      },
    };
  } catch (error) {
    if (isBusy(error)) return null;
    const message = explainFolder(folder) ?? (error as Error).message;
    throw new Fault('store_unavailable', message, { cause: error });
  }
}

/** A restore that was interrupted after its last check goes on before anybody looks at the data. */
function finishOrRelease(folder: string, lock: FolderLock): void {
  try {
    finishRestore(folder);
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** What this process may create in a data folder. SQLite sets the owner of the files beside a database. */
const CREATED = [
  LOCK_FILE,
  HOLDER_FILE,
  'berth.db',
  'berth.db-wal',
  'berth.db-shm',
  'berth.db-sums',
  'master.key',
  'master.key.next',
  'moved-to-postgres',
];
const ROOT = 0;

/**
 * Gives files that root created in another user's folder to that user: otherwise the service could no longer
 * start. Links are left alone, so that nobody gets a file from elsewhere by linking to it.
 */
export function chownToFolderOwner(folder: string, others: readonly string[] = []): void {
  if (process.getuid?.() !== ROOT) return;
  const stats = statSync(folder, { throwIfNoEntry: false });
  // Somebody may have removed it while it was in use.
  if (stats === undefined || stats.uid === ROOT) return;
  const { uid, gid } = stats;
  for (const name of [...CREATED, ...others]) {
    const file = join(folder, name);
    const facts = lstatSync(file, { throwIfNoEntry: false });
    if (facts?.isFile() && facts.nlink === 1 && facts.uid !== uid) giveTo(file, uid, gid);
  }
}

/** In containers and on network disks root may lack the right; it can still use its own files. */
function giveTo(file: string, uid: number, gid: number): void {
  try {
    lchownSync(file, uid, gid);
  } catch {}
}

/** If it cannot be written, the lock works without it. */
function writeNote(file: string): void {
  try {
    writeFileSync(file, `${process.pid}\n`);
  } catch {}
}

/** Describes the process that has a folder. After a kill -9 the note may name one that no longer exists. */
export function describeHolder(folder: string): string {
  const id = Number(readText(join(folder, HOLDER_FILE)) ?? 0);
  return isAlive(id) ? `another Berth process (process id ${id})` : 'another Berth process';
}

function isAlive(id: number): boolean {
  if (!Number.isSafeInteger(id) || id <= 0) return false;
  try {
    return process.kill(id, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function takeLock(folder: string): FolderLock {
  const db = new DatabaseSync(join(folder, LOCK_FILE), { timeout: 0 });
  try {
    db.exec('PRAGMA journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
    return { release: () => db.close() };
  } catch (error) {
    db.close();
    throw error;
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && ((error.errcode as number) & 0xff) === SQLITE_BUSY;
}

/** The same store; closing it also releases the folder. */
export function holdFolder(store: Store, lock: FolderLock): Store {
  const close = store.close.bind(store);
  return Object.assign(store, { close: () => close().then(() => lock.release()) });
}
