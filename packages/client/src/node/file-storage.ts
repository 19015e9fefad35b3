import { rmSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { MACHINE_CLOCKS } from '../clock.ts';
import type { Storage } from '../environment.ts';
import { createId } from '../web/web-environment.ts';

/** Where programs keep what is neither settings nor cache. */
function usualFolder(): string {
  const { LOCALAPPDATA, XDG_STATE_HOME } = process.env;
  if (process.platform === 'win32') return join(LOCALAPPDATA ?? homedir(), 'berth-client');
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'berth-client');
  return join(XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'berth-client');
}

/**
 * A file for each text. A file is there as a whole or not at all, even after a loss of power. The folder is
 * found at the first use: most programs never store anything, and an account may have no home.
 */
export function createFileStorage(given?: string): Storage {
  let made: Promise<unknown> | undefined;
  const prepare = (folder: string) => {
    made ??= mkdir(folder, { recursive: true, mode: 0o700 }).then(() =>
      removeOldDrafts(folder).catch(() => {}),
    );
    // It may work later.
    return made.catch((error) => {
      made = undefined;
      throw error;
    });
  };
  const place = (name: string) => join(given ?? usualFolder(), fileOf(name));
  return {
    read: async (name) => readFile(place(name), 'utf8').catch(nullIfMissing),
    async write(name, text) {
      const folder = given ?? usualFolder();
      await prepare(folder);
      const file = place(name);
      const draft = `${file}.${createId()}${DRAFT}`;
      if (drafts.size === 0) process.on('exit', removeDrafts);
      drafts.add(draft);
      try {
        await writeSynced(draft, text);
        await rename(draft, file);
      } finally {
        await rm(draft, { force: true });
        if (drafts.delete(draft) && drafts.size === 0) process.off('exit', removeDrafts);
      }
      await syncFolder(folder);
    },
    async remove(name) {
      await unlink(place(name)).catch(nullIfMissing);
    },
    async list(prefix) {
      const files = (await readdir(given ?? usualFolder()).catch(nullIfMissing)) ?? [];
      return files
        .filter((file) => file.endsWith(ENDING))
        .map((file) => file.slice(0, -ENDING.length))
        .filter((name) => name.startsWith(prefix))
        .sort();
    },
  };
}

const ENDING = '.json';
const DRAFT = '.new';
/** No program takes that long to write a small file. */
const OLD_MS = 3_600_000;

/** What this program is writing. */
const drafts = new Set<string>();

function removeDrafts(): void {
  for (const draft of drafts) rmSync(draft, { force: true });
}

/** Removes the drafts of programs that were killed. Other programs may do so at the same time. */
async function removeOldDrafts(folder: string): Promise<void> {
  for (const file of (await readdir(folder)).filter((name) => name.endsWith(DRAFT))) {
    const draft = join(folder, file);
    const facts = await stat(draft).catch(nullIfMissing);
    if (facts !== null && MACHINE_CLOCKS.readWallMs() - facts.mtimeMs > OLD_MS)
      await rm(draft, { force: true });
  }
}

/** Names come from this package, and products in them are encoded. */
function fileOf(name: string): string {
  return `${name.replace(/[^\w.%@~-]/g, '_')}${ENDING}`;
}

function nullIfMissing(error: unknown): null {
  if ((error as { code?: string }).code === 'ENOENT') return null;
  throw error;
}

async function writeSynced(file: string, text: string): Promise<void> {
  const handle = await open(file, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Windows cannot open folders, and needs no sync for them. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
