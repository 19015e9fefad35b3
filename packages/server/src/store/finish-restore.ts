import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { DATABASE_FILE, findRestored } from './folder-access.ts';

/**
 * A restored database is complete and verified before it gets the name that `findRestored` looks for. That
 * rename is the restore: what is left to do here can be repeated, and whoever takes the folder next does it.
 * The old database is kept under another name, together with its log.
 */
export function finishRestore(folder: string): void {
  const restored = findRestored(folder);
  if (restored === null) return;
  const within = (name: string) => join(folder, name);
  const kept = within(keptName(restored));
  keepOld(within(DATABASE_FILE), kept);
  for (const log of ['-wal', '-journal']) {
    const file = within(`${DATABASE_FILE}${log}`);
    // On the new database, the log of the old one would destroy it.
    if (existsSync(file) && statSync(file).size > 0) renameSync(file, `${kept}${log}`);
    else rmSync(file, { force: true });
  }
  for (const file of ['-shm', '-sums']) rmSync(within(`${DATABASE_FILE}${file}`), { force: true });
  sync(folder);
  renameSync(within(restored), within(DATABASE_FILE));
  sync(folder);
}

/** `berth.db.restored-…` replaces what becomes `berth.db.replaced-…`. */
export function keptName(restored: string): string {
  return restored.replace('.restored-', '.replaced-');
}

/** A second name for the same file: at no time is there no database. */
function keepOld(file: string, kept: string): void {
  if (!existsSync(file) || existsSync(kept)) return;
  try {
    linkSync(file, kept);
  } catch {
    copyFileSync(file, `${kept}.part`);
    sync(`${kept}.part`);
    renameSync(`${kept}.part`, kept);
  }
}

/** Windows cannot sync folders, and need not. */
function sync(path: string): void {
  if (process.platform === 'win32') return;
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
