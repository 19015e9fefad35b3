import { dirname } from 'node:path';
import { Fault } from '../../../core/nouns/fault.ts';
import { asFull } from './disk-full.ts';

const DAMAGES: readonly number[] = [
  11, // SQLITE_CORRUPT
  26, // SQLITE_NOTADB
];

export function damageFault(file: string, detail: string, cause?: unknown): Fault {
  return new Fault(
    'store_unavailable',
    `The database ${file} is damaged (${detail}). Stop the server and restore a backup: ` +
      'docs/backup.md shows how.',
    { cause },
  );
}

/** SQLite names neither the file that is damaged, nor the disk that is full, nor what to do about it. */
export function explainCorruption<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw isDamage(error)
      ? damageFault(file, `SQLite says: ${error.message}`, error)
      : (asFull(error, dirname(file)) ?? error);
  }
}

function isDamage(error: unknown): error is Error {
  // The higher bytes only say more about the same kind of error.
  return error instanceof Error && 'errcode' in error && DAMAGES.includes(Number(error.errcode) & 0xff);
}
