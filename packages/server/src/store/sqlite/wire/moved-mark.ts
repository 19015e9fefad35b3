import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { removeDurably, writeNewFile } from '@berth/shell/files/durable-file';
import { Fault } from '../../../core/nouns/fault.ts';

const MARK_FILE = 'moved-to-postgres';

export function isMoved(folder: string): boolean {
  return existsSync(join(folder, MARK_FILE));
}

/** Two servers on the same data would lend every slot twice. */
export function refuseMoved(folder: string): void {
  if (!isMoved(folder)) return;
  const file = join(folder, MARK_FILE);
  throw new Fault(
    'store_unavailable',
    `The data in ${folder} was moved to ${readFileSync(file, 'utf8').trim()}. Start the server with that ` +
      `database (BERTH_DATABASE_URL). Only if that is never used again, remove ${file} to continue here.`,
  );
}

/** A file, so that deleting it is enough to use the old data after all. */
export function markMoved(folder: string, to: string): void {
  writeNewFile(join(folder, MARK_FILE), `${to}\n`);
}

/** For a folder that gets other data. */
export function forgetMoved(folder: string): void {
  if (isMoved(folder)) removeDurably(join(folder, MARK_FILE));
}
