import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const LOCK_FILE = 'berth.lock';
const SQLITE_BUSY = 5;

/** The right to use a data folder, held until it is released or the process ends. */
export interface FolderLock {
  release(): void;
}

/**
 * Takes the folder, or answers `null` when another process has it. The lock is the operating system's, so it
 * dies with the process, however that dies. Node has no file locks of its own; SQLite does, on every system,
 * so an empty database that is never written serves as the lock file.
 */
export function lockFolder(folder: string): FolderLock | null {
  const db = new DatabaseSync(join(folder, LOCK_FILE), { timeout: 0 });
  try {
    db.exec('PRAGMA journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
    return { release: () => db.close() };
  } catch (error) {
    db.close();
    if (isBusy(error)) return null;
    throw error;
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && ((error.errcode as number) & 0xff) === SQLITE_BUSY;
}
