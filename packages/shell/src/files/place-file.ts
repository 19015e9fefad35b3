import { existsSync, linkSync, lstatSync, renameSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncFolder } from './durable-file.ts';

/**
 * Gives a finished and synced draft its name, durably. Unless `replaces`, a file that has the name already
 * stays, and this throws an error with the code EEXIST. A device is never replaced.
 */
export function placeFile(draft: string, file: string, replaces: boolean): void {
  if (replaces) refuseDevice(file);
  if (replaces || !linkNew(draft, file)) renameSync(draft, file);
  else unlinkSync(draft);
  syncFolder(dirname(file));
}

/** To root, a rename would give /dev/null to the backup. */
function refuseDevice(file: string): void {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found === undefined || found.isFile() || found.isDirectory() || found.isSymbolicLink()) return;
  const reason = 'it is a device or another special file. Give the path of a file';
  throw Object.assign(new Error(reason), { syscall: 'rename' });
}

/** `false`: this file system has no links. */
function linkNew(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    const isTaken = (error as { readonly code?: string }).code === 'EEXIST' || existsSync(file);
    if (isTaken) throw Object.assign(new Error(`${file} exists already.`), { code: 'EEXIST' });
    return false;
  }
}
