import { statfsSync } from 'node:fs';
import { Fault } from '../../../core/nouns/fault.ts';

const SQLITE_FULL = 13;

/** SQLite says these of a full disk if it could not create or enlarge the files beside the database. */
const ALSO_IF_FULL: readonly number[] = [
  10, // SQLITE_IOERR
  14, // SQLITE_CANTOPEN
];

const MEGABYTE = 1024 * 1024;

/** With less, a disk counts as full. */
const FULL_BYTES = MEGABYTE;

/** The log grows to 16 MB before it is moved into the database, which may grow by that much. */
const ROOM_BYTES = 32 * MEGABYTE;

/** Says which disk is full, and how much is missing. */
export class DiskFull extends Fault {
  constructor(folder: string, cause: unknown) {
    const freeBytes = readFreeBytes(folder) ?? 0;
    const missing = Math.max(1, Math.ceil((ROOM_BYTES - freeBytes) / MEGABYTE));
    super(
      'store_unavailable',
      `The disk of ${folder} is full: ${(freeBytes / MEGABYTE).toFixed(1)} MB are free, and the server ` +
        `needs ${ROOM_BYTES / MEGABYTE} MB to work. Free at least ${missing} MB, or enlarge the disk.`,
      { cause },
    );
  }
}

/** `null`: the error has other reasons. */
export function asFull(error: unknown, folder: string): DiskFull | null {
  if (error instanceof DiskFull) return error;
  return isFull(error, folder) ? new DiskFull(folder, error) : null;
}

function isFull(error: unknown, folder: string): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && error.code === 'ENOSPC') return true;
  // The higher bytes only say more about the same kind of error.
  const code = 'errcode' in error ? Number(error.errcode) & 0xff : 0;
  if (code === SQLITE_FULL) return true;
  return ALSO_IF_FULL.includes(code) && (readFreeBytes(folder) ?? FULL_BYTES) < FULL_BYTES;
}

/** `null` if the system does not say. */
function readFreeBytes(folder: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}
