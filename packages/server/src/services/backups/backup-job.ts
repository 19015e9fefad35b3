import type { BackupFacts } from '@berth/shell/files/backup-file';
import type { MasterKey } from '../../secrets/seal.ts';

/** What a backup is made of, besides the data. */
export interface BackupOrder {
  /** The new file. */
  readonly to: string;
  readonly madeBy: string;
  readonly madeAt: string;
  /** Seals the secrets in the data, and authenticates the file. */
  readonly masterKey: MasterKey;
  /** The master key under a passphrase; `null`: it is not included. */
  readonly sealedKeys: object | null;
}

/** Writes a consistent, verified copy of all data to a file while the server works, and delays no request. */
export type MakeBackup = (order: BackupOrder) => Promise<BackupFacts>;
