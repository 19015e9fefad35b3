import { type MasterKey, SealError, unsealWithAny } from '../../../secrets/seal.ts';
import { querySecrets } from '../../engine/queries.ts';
import { isPlain, type SealedSecrets, sealSetting } from '../../engine/sealed-secrets.ts';
import type { RowOf } from '../../engine/tables.ts';
import { type Ask, answerQuery } from './ask.ts';

/** All as of one moment. */
export function listSecrets(ask: Ask): Promise<SealedSecrets> {
  return answerQuery(
    ask,
    querySecrets((secrets) => secrets),
  );
}

/** One of the keys that the store has made for itself when it was first opened. */
export function openSecret(
  secrets: SealedSecrets,
  name: string,
  masterKeys: readonly MasterKey[],
): Uint8Array {
  const sealed = secrets.get(name);
  if (sealed === undefined) {
    throw new SealError(`The database has no secret "${name}". Start a server on it to create one.`);
  }
  return unsealWithAny(masterKeys, name, sealed);
}

const SEAL_SETTING = `WITH emptied AS (
    UPDATE setting SET value = 'null' WHERE name = $1 AND value = $2 RETURNING name)
  INSERT INTO sealed_secret (name, sealed) SELECT 'setting:' || name, $3::bytea FROM emptied
  ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed`;

/** Seals what release 0.1.0 kept as plain text, unless it is changed at the same moment. */
export async function sealSettings(ask: Ask, masterKey: MasterKey): Promise<void> {
  for (const row of (await ask<RowOf<'setting'>>('SELECT * FROM setting')).filter(isPlain))
    await ask(SEAL_SETTING, [row.name, row.value, sealSetting(row, masterKey).sealed]);
}
