import { join } from 'node:path';
import type { MasterKey } from '../../../packages/server/src/secrets/seal.ts';
import { moveStore } from '../../../packages/server/src/services/backups/move-store.ts';
import { openPostgresTarget } from '../../../packages/server/src/store/postgres/move/postgres-target.ts';
import { openSqliteSource } from '../../../packages/server/src/store/sqlite/move/sqlite-source.ts';

/** Copies a data folder to an empty database, so that tests can compare both. */
export async function copyToPostgres(folder: string, url: string, masterKey: MasterKey): Promise<void> {
  const value = Buffer.from(masterKey).toString('hex');
  const source = await openSqliteSource({ folder, masterKey: { value, file: null } });
  if (source === null) throw new Error(`${folder} is in use.`);
  const key = { value, file: join(folder, 'master.key') };
  const target = await openPostgresTarget({ url, masterKey: key, prepareStatements: true });
  try {
    await moveStore(source, target);
  } finally {
    await target.close();
    await source.close();
  }
}
