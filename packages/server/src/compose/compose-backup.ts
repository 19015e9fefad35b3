import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { BackupFacts } from '@berth/shell/files/backup-file';
import { findBundledFile } from '@berth/shell/files/bundled-files';
import type { Config } from '../config.ts';
import { parseSchedule } from '../core/nouns/backup-schedule.ts';
import { Fault } from '../core/nouns/fault.ts';
import type { BackupOrder, MakeBackup } from '../services/backups/backup-job.ts';
import { prepareFolder, readPassphraseFile } from '../services/backups/backup-places.ts';
import { Backups } from '../services/backups/backups.ts';
import { createKeyCustody } from '../services/keys/key-custody.ts';
import type { CheckNewValue, CurrentSettings } from '../services/settings/live-settings.ts';
import { DATABASE_FILE } from '../store/folder-access.ts';
import type { Store } from '../store/store.ts';
import type { BackupResult } from './backup-thread.ts';
import { findMasterKey, isShared, type StoreOptions } from './compose-store.ts';
import type { BackupSource, BackupTask } from './make-backup.ts';
import type { ServerEnvironment } from './serve-options.ts';

type SourceOptions = Pick<StoreOptions, 'config'>;

interface PartOptions extends Pick<StoreOptions, 'config' | 'env'> {
  readonly settings: CurrentSettings;
  readonly environment: ServerEnvironment;
}

/** What would make the next backup fail is refused when it is set. */
export const BACKUP_CHECKS: Readonly<Record<string, CheckNewValue>> = {
  'backup.folder': (folder) => prepareFolder(String(folder)),
  'backup.passphraseFile': (file) => void readPassphraseFile(String(file)),
};

/** What keeps the master key and makes backups. */
export function composeBackups(store: Store, { config, env, settings, environment }: PartOptions) {
  const custody = createKeyCustody(store, findMasterKey({ config, env }));
  const backups = new Backups({
    store,
    custody,
    make: environment.makeBackup ?? createBackupMaker({ config }),
    version: environment.version,
    dataFolder: config.data,
    readPlan: () => {
      const { folder, schedule, ...rest } = settings.current.backup;
      const place = folder === '' ? join(config.data, 'backups') : folder;
      return { folder: place, schedule: parseSchedule(schedule), ...rest };
    },
  });
  return { custody, backups };
}

/** How backups of this server are made: in a thread of its own, which reads the data beside the store. */
function createBackupMaker({ config }: SourceOptions): MakeBackup {
  const source = sourceOf(config);
  return async (order) => {
    try {
      return await runThread({ source, order });
    } catch (error) {
      discard(order);
      const { message } = error as Error;
      throw new Fault('store_unavailable', `The backup could not be made. ${message}`, { cause: error });
    }
  };
}

function sourceOf(config: Config): BackupSource {
  if (!isShared(config)) return { kind: 'sqlite', file: join(config.data, DATABASE_FILE) };
  const { url, prepareStatements } = config.database;
  return { kind: 'postgresql', url, prepareStatements };
}

function discard({ to }: BackupOrder): void {
  for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(`${to}${suffix}`, { force: true });
}

function runThread(task: BackupTask): Promise<BackupFacts> {
  const bundled = findBundledFile('server/src/compose/backup-thread.ts');
  const code = bundled ?? new URL('./backup-thread.ts', import.meta.url);
  const worker = new Worker(code, { eval: bundled !== undefined, workerData: task });
  return new Promise((resolve, reject) => {
    worker.on('message', (result: BackupResult) => {
      if (result.kind === 'made') resolve(result.facts);
      else reject(new Error(result.message));
    });
    worker.on('error', reject);
    worker.on('exit', () => reject(new Error('The thread that makes backups has ended.')));
  });
}
