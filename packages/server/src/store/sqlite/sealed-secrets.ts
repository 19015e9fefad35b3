import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { SystemChange } from '../../core/decision.ts';
import type { CloudKeys } from '../../core/system-command.ts';
import {
  fingerprint,
  fingerprintOfSeal,
  type MasterKey,
  SealError,
  seal,
  unseal,
  unsealWithAny,
} from '../../secrets/seal.ts';
import type { Statements } from './statements.ts';

/**
 * The audit key of a store whose chains are anchored, and of one that was never opened since they are. The
 * name is part of the seal: nobody makes an anchored store pass for an old one that is still to be anchored.
 */
const AUDIT_KEY = 'anchored_audit_key';
const OLD_AUDIT_KEY = 'audit_key';
const AUDIT_KEY_BYTES = 32;
const IDENTITY_KEY = 'identity_key';

/** A secret is kept under its name, which is part of its seal. */
function findSealed(db: DatabaseSync, name: string): Uint8Array | null {
  const row = db.prepare('SELECT sealed FROM sealed_secret WHERE name = ?').get(name);
  return row === undefined ? null : (row.sealed as Uint8Array);
}

/** The key of the audit chains; made when the store is new, and the same for as long as it lives. */
export function loadAuditKey(db: DatabaseSync, ...masterKeys: readonly MasterKey[]): Uint8Array {
  return loadOrMake(db, masterKeys, AUDIT_KEY, () => randomBytes(AUDIT_KEY_BYTES));
}

/** Whether the chains were anchored before: from then on, an anchor that is missing was taken away. */
export function isAuditAnchored(db: DatabaseSync): boolean {
  return findSealed(db, AUDIT_KEY) !== null;
}

/** Seals the key of an old store under the new name; `false`: there is none. */
export function renameAuditKey(db: DatabaseSync, masterKey: MasterKey): boolean {
  const sealed = findSealed(db, OLD_AUDIT_KEY);
  if (sealed === null) return false;
  const key = unseal(masterKey, OLD_AUDIT_KEY, sealed);
  db.prepare('UPDATE sealed_secret SET name = ?, sealed = ? WHERE name = ?').run(
    AUDIT_KEY,
    seal(masterKey, AUDIT_KEY, key),
    OLD_AUDIT_KEY,
  );
  return true;
}

/** The key that this server signs its own files with; as old as the store, too. */
export function loadIdentityKey(db: DatabaseSync, ...masterKeys: readonly MasterKey[]): Uint8Array {
  return loadOrMake(db, masterKeys, IDENTITY_KEY, () =>
    generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'der' }),
  );
}

function loadOrMake(
  db: DatabaseSync,
  masterKeys: readonly MasterKey[],
  name: string,
  make: () => Uint8Array,
): Uint8Array {
  const sealed = findSealed(db, name);
  if (sealed !== null) return unsealWithAny(masterKeys, name, sealed);
  const key = make();
  const row = [name, seal(masterKeys[0] as MasterKey, name, key)] as const;
  db.prepare('INSERT INTO sealed_secret (name, sealed) VALUES (?, ?)').run(...row);
  return key;
}

/** The fingerprint of the master key that seals the store; `null` for a store that has no secret yet. */
export function findSealingFingerprint(db: DatabaseSync): string | null {
  const names = [AUDIT_KEY, OLD_AUDIT_KEY, IDENTITY_KEY];
  const sealed = names.map((name) => findSealed(db, name)).find((found) => found !== null) ?? null;
  return sealed === null ? null : fingerprintOfSeal(sealed);
}

/** The key that the store is sealed with, of those that it may be; the first one for a store that is new. */
export function chooseMasterKey(db: DatabaseSync, candidates: readonly MasterKey[]): MasterKey {
  const sealedBy = findSealingFingerprint(db);
  const found = candidates.find((key) => fingerprint(key) === sealedBy) ?? candidates[0];
  if (found === undefined) throw new SealError('There is no master key to open the store with.');
  return found;
}

/** Both as of one moment. */
export function findCloudKeys(db: DatabaseSync, masterKeys: readonly MasterKey[]): CloudKeys {
  const rows = db
    .prepare("SELECT name, sealed FROM sealed_secret WHERE name IN ('cloud_api_key', 'cloud_shared_key')")
    .all();
  const open = (name: string): string | null => {
    const row = rows.find((candidate) => candidate.name === name);
    if (row === undefined) return null;
    return Buffer.from(unsealWithAny(masterKeys, name, row.sealed as Uint8Array)).toString('utf8');
  };
  return { apiKey: open('cloud_api_key'), sharedKey: open('cloud_shared_key') };
}

/** What a change to the secrets is applied to. */
interface SealTarget {
  readonly statements: Statements;
  masterKey: MasterKey;
}

type SecretChange = Extract<SystemChange, { kind: 'put_secret' | 'reseal_secrets' }>;

export function applySecretChange(target: SealTarget, change: SecretChange): void {
  if (change.kind === 'reseal_secrets') resealAll(target, change.newKey as MasterKey);
  else put(target, change.name, Buffer.from(change.secret, 'utf8'));
}

function put({ statements, masterKey }: SealTarget, name: string, secret: Uint8Array): void {
  statements.putSecret.run(name, seal(masterKey, name, secret));
}

/** Every secret, whatever it is called: one that was forgotten could never be opened again. */
function resealAll(target: SealTarget, newKey: MasterKey): void {
  const secrets = target.statements.listSecrets.all().map((row) => {
    const name = row.name as string;
    return { name, secret: unseal(target.masterKey, name, row.sealed as Uint8Array) };
  });
  target.masterKey = newKey;
  for (const { name, secret } of secrets) put(target, name, secret);
}
