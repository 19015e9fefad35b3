import fs from 'node:fs';
import path from 'node:path';
import { createPrivateFolder, explainFolder as explain } from '@berth/protocol/console/folder-access';

const SYSTEM = { fs, path, userId: process.getuid?.() ?? null };

const WRITTEN = ['berth.lock', 'berth.db', 'berth.db-wal', 'berth.db-shm'];
const READ = ['master.key'];

/** Creates the folder for nobody but its owner. */
export function createDataFolder(folder: string): void {
  createPrivateFolder(folder, SYSTEM);
}

/** Why this process cannot work in a folder, and what to do; `null`: nothing is known to stand in the way. */
export function explainFolder(folder: string): string | null {
  const within = (name: string) => path.join(folder, name);
  return explain(folder, { written: WRITTEN.map(within), read: READ.map(within) }, SYSTEM);
}
