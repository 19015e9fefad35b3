import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { renameDurably } from '@berth/shell/files/durable-file';
import type { RestoreBackup } from '../../../core/system-command.ts';
import type { MasterKey } from '../../../secrets/seal.ts';
import { systemClock } from '../../clock.ts';
import { finishRestore, keptName } from '../../finish-restore.ts';
import { DATABASE_FILE } from '../../folder-access.ts';
import { chownToFolderOwner } from '../../folder-lock.ts';
import type { Store } from '../../store.ts';
import type { Holdings } from '../../store-copy.ts';
import { openInThreadStore } from '../in-thread-store.ts';
import { openWritable } from '../wire/database.ts';
import { checkDatabase, type DatabaseCheck } from './check-database.ts';
import { leaveWalMode } from './copy-database.ts';
import { findHoldings, readHoldings } from './read-holdings.ts';

const DRAFT = `${DATABASE_FILE}.restoring`;
const LOGS = ['-wal', '-shm', '-journal', '-sums'];

/**
 * A database that is about to replace the one in a folder. Until `commit`, nothing there has changed. Callers
 * must hold the folder's lock.
 */
export class RestoredDraft {
  readonly file: string;
  readonly #folder: string;

  /** Removes what an interrupted attempt left. */
  constructor(folder: string) {
    this.#folder = folder;
    this.file = join(folder, DRAFT);
    this.discard();
  }

  /** Brings the schema up to date, checks everything, and says what is in it. */
  check(masterKey: MasterKey): DatabaseCheck & { readonly holdings: Holdings } {
    const db = openWritable(this.file);
    try {
      return { ...checkDatabase(db, masterKey), holdings: readHoldings(db) };
    } finally {
      db.close();
    }
  }

  /** What the folder has now; `null`: nothing, or nothing that can be read. */
  findReplaced(): Holdings | null {
    return findHoldings(join(this.#folder, DATABASE_FILE));
  }

  /** Records in the draft that it was restored. `settle` gets its store. */
  async record(
    masterKey: MasterKey,
    restored: Omit<RestoreBackup, 'kind'>,
    settle: (store: Store) => Promise<void>,
  ): Promise<void> {
    const store = openInThreadStore({
      file: this.file,
      masterKey,
      clock: systemClock,
      onNotice: () => {},
      resumeAtOpen: false,
    });
    try {
      await store.execute({ kind: 'restore_backup', ...restored });
      await settle(store);
    } finally {
      await store.close();
    }
  }

  /** Replaces the data in the folder, at once. Returns the files in which the old data is kept. */
  commit(stamp: string): readonly string[] {
    leaveWalMode(this.file);
    chownToFolderOwner(this.#folder, [DRAFT]);
    const restored = `${DATABASE_FILE}.restored-${stamp}`;
    renameDurably(this.file, join(this.#folder, restored));
    finishRestore(this.#folder);
    const kept = join(this.#folder, keptName(restored));
    return ['', ...LOGS].map((suffix) => `${kept}${suffix}`).filter((file) => existsSync(file));
  }

  discard(): void {
    for (const suffix of ['', ...LOGS]) rmSync(`${this.file}${suffix}`, { force: true });
  }
}
