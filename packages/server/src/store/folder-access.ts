import fs from 'node:fs';
import path from 'node:path';
import { createPrivateFolder, explainFolder as explain } from '@berth/shell/files/folder-access';

export const DATABASE_FILE = 'berth.db';

const WRITTEN = ['berth.lock', DATABASE_FILE, 'berth.db-wal', 'berth.db-shm', 'berth.db-sums'];
const READ = ['master.key'];

/** An empty file has none: a copy to a full disk, or a first start that was killed, leaves one. */
export function hasData(folder: string): boolean {
  const file = path.join(folder, DATABASE_FILE);
  return (fs.existsSync(file) && fs.statSync(file).size > 0) || findRestored(folder) !== null;
}

const RESTORED = /^berth\.db\.restored-\d{8}T\d{6,9}Z$/;

/** The name of a restored database that is complete, but not yet in its place; `null`: there is none. */
export function findRestored(folder: string): string | null {
  if (!fs.existsSync(folder)) return null;
  return fs.readdirSync(folder).find((name) => RESTORED.test(name)) ?? null;
}

/** Creates the folder for its owner only. */
export function createDataFolder(folder: string): void {
  createPrivateFolder(folder);
}

/** Why this process cannot work in a folder, and what to do; `null`: no problem is known. */
export function explainFolder(folder: string): string | null {
  const within = (name: string) => path.join(folder, name);
  return explain(folder, { written: WRITTEN.map(within), read: READ.map(within) });
}
