import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { restoreBackup } from '../../packages/server/src/compose/compose-restore.ts';
import { loadConfig } from '../../packages/server/src/config.ts';
import { environmentOf } from './stores/test-stores.ts';

/** Has the server at `url` make a backup, saves it, and returns its length. */
export async function saveBackup(url: string, file: string, passphrase?: string): Promise<number> {
  const body = JSON.stringify(passphrase === undefined ? {} : { passphrase });
  const answer = await fetch(`${url}/api/admin/backup`, { method: 'POST', body });
  const bytes = Buffer.from(await answer.arrayBuffer());
  assert.equal(answer.status, 200, bytes.toString('utf8'));
  writeFileSync(file, bytes);
  return bytes.length;
}

interface Given {
  readonly passphrase?: string;
  readonly keyFile?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Restores a backup into a data folder, or into its database, as the command does. */
export async function restore(data: string, file: string, given: Given = {}) {
  const { passphrase = null, keyFile = null, env = {} } = given;
  const all = { ...(await environmentOf(data)), ...env };
  const { config } = loadConfig({ flags: { data }, env: all, file: null });
  return restoreBackup({ config, env: all }, { file, passphrase, keyFile });
}
