import type { DatabaseSync } from 'node:sqlite';
import { type MasterKey, seal, unsealWithAny } from '../../../secrets/seal.ts';
import { querySecrets } from '../../engine/queries.ts';
import {
  AUDIT_KEY,
  IDENTITY_KEY,
  isPlain,
  makeKey,
  type SealedSecrets,
  sealSetting,
} from '../../engine/sealed-secrets.ts';
import type { Statements } from '../../engine/statements.ts';
import { answerQuery } from './read-rows.ts';

/** All as of one moment. */
export function listSecrets(db: DatabaseSync): SealedSecrets {
  return answerQuery(
    db,
    querySecrets((secrets) => secrets),
  );
}

/** The key of the audit chains; created with the store and never changed. */
export function loadAuditKey(db: DatabaseSync, ...masterKeys: readonly MasterKey[]): Uint8Array {
  return loadOrMake(db, masterKeys, AUDIT_KEY);
}

/** The key with which this server signs its own files; also created with the store. */
export function loadIdentityKey(db: DatabaseSync, ...masterKeys: readonly MasterKey[]): Uint8Array {
  return loadOrMake(db, masterKeys, IDENTITY_KEY);
}

/** Whether the chains were anchored before. If so, somebody has removed an anchor that is missing. */
export function isAuditAnchored(db: DatabaseSync): boolean {
  return listSecrets(db).has(AUDIT_KEY);
}

function loadOrMake(
  db: DatabaseSync,
  masterKeys: readonly MasterKey[],
  name: typeof AUDIT_KEY | typeof IDENTITY_KEY,
): Uint8Array {
  const sealed = listSecrets(db).get(name);
  if (sealed !== undefined) return unsealWithAny(masterKeys, name, sealed);
  const key = makeKey(name);
  const row = [name, seal(masterKeys[0] as MasterKey, name, key)] as const;
  db.prepare('INSERT INTO sealed_secret (name, sealed) VALUES (?, ?)').run(...row);
  return key;
}

/**
 * Seals what release 0.1.0 kept as plain text. With `secure_delete`, SQLite overwrites what it deletes. All
 * rows are deleted, because other parts of their pages may still have older values. Returns whether there was
 * any; the write-ahead log then has to be moved into the database.
 */
export function sealSettings(
  db: DatabaseSync,
  { listSettings, setting, sealed_secret }: Pick<Statements, 'listSettings' | 'setting' | 'sealed_secret'>,
  masterKey: MasterKey,
): boolean {
  const rows = listSettings.all();
  const plain = rows.filter(isPlain);
  if (plain.length === 0) return false;
  db.exec('PRAGMA secure_delete = ON; BEGIN IMMEDIATE; DELETE FROM setting');
  for (const row of rows) setting.add(isPlain(row) ? { ...row, value: 'null' } : row);
  for (const row of plain) sealed_secret.put(sealSetting(row, masterKey));
  db.exec('COMMIT; PRAGMA secure_delete = OFF');
  return true;
}
