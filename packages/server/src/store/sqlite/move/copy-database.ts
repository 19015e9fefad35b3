import { backup, DatabaseSync } from 'node:sqlite';
import { explainCorruption } from '../wire/damage.ts';
import { openReadOnly } from '../wire/database.ts';
import { readPragma } from '../wire/read-rows.ts';

/** A megabyte. */
const PAGES_PER_STEP = 256;

/**
 * Copies the database of a running or stopped server to a new file, as of one moment. Without its own
 * transaction, the copy would start again with every commit. `pause` is called after each step.
 */
export async function copyDatabase(file: string, to: string, pause: () => void): Promise<void> {
  const db = explainCorruption(file, () => openReadOnly(file));
  try {
    db.exec('BEGIN');
    // A transaction begins with its first read.
    explainCorruption(file, () => readPragma(db, 'schema_version'));
    await backup(db, to, { rate: PAGES_PER_STEP, progress: pause });
  } finally {
    db.close();
  }
  leaveWalMode(to);
}

/** Without a write-ahead log, everything is in the file itself. */
export function leaveWalMode(file: string): void {
  const db = new DatabaseSync(file);
  try {
    db.exec('PRAGMA journal_mode = DELETE');
    if (readPragma(db, 'journal_mode') !== 'delete') throw new Error(`Cannot leave WAL mode: ${file}`);
  } finally {
    db.close();
  }
}
