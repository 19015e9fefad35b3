import fs from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { addFooter, type BackupFacts } from '@berth/protocol/files/backup-file';
import type { BackupOrder } from '../services/backups/backup-job.ts';
import { copyStore } from '../services/backups/move-store.ts';
import { openPostgresSnapshot } from '../store/postgres/move/postgres-source.ts';
import { checkDatabase, describeDatabase } from '../store/sqlite/move/check-database.ts';
import { copyDatabase, leaveWalMode } from '../store/sqlite/move/copy-database.ts';
import { openFileTarget } from '../store/sqlite/move/sqlite-target.ts';

/** Where the data is, and what to make of it. */
export interface BackupTask {
  readonly source: BackupSource;
  readonly order: BackupOrder;
}

export type BackupSource =
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'postgresql'; readonly url: string; readonly prepareStatements: boolean };

/** Copies the data, checks the copy, and makes a backup of it. `pause` is called after each megabyte. */
export async function makeBackup({ source, order }: BackupTask, pause: () => void): Promise<BackupFacts> {
  const { to, masterKey, madeBy, madeAt, sealedKeys } = order;
  if (source.kind === 'sqlite') await copyDatabase(source.file, to, pause);
  else await copyRows(source, order);
  const db = new DatabaseSync(to, { readOnly: true });
  try {
    const [problem] = checkDatabase(db, masterKey).problems;
    if (problem !== undefined) throw new Error(problem);
    const { identity, schemaVersion, sealedBy } = describeDatabase(db);
    const facts = {
      program: 'server' as const,
      made_by: madeBy,
      made_at: madeAt,
      schema_version: schemaVersion,
      store: source.kind,
      identity,
      key_fingerprint: sealedBy,
      sealed_keys: sealedKeys,
    };
    return addFooter(fs, to, facts, masterKey, pause);
  } finally {
    db.close();
  }
}

/** Reads one snapshot of the database, and writes it as a new database file. */
async function copyRows(
  source: BackupSource & { readonly kind: 'postgresql' },
  { to, masterKey }: BackupOrder,
): Promise<void> {
  const key = { value: Buffer.from(masterKey).toString('hex'), file: '' };
  const snapshot = await openPostgresSnapshot({ ...source, masterKey: key });
  try {
    const target = openFileTarget(to, key);
    try {
      await copyStore(snapshot, target);
    } finally {
      await target.close();
    }
  } finally {
    await snapshot.close();
  }
  leaveWalMode(to);
}
