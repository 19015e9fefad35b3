import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { Channel } from '../../core/notify/channel.ts';
import type { GrantKey } from '../../core/nouns/grant-key.ts';
import { SEALED_SETTINGS, type StoredSetting } from '../../core/nouns/stored-setting.ts';
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
import type { SettingRow } from './rows.ts';
import type { Statements } from './statements.ts';
import type { RowOf } from './tables.ts';

export const AUDIT_KEY = 'audit_key';
export const IDENTITY_KEY = 'identity_key';
const AUDIT_KEY_BYTES = 32;

/** The sealed secrets of a store by name. */
export type SealedSecrets = ReadonlyMap<string, Uint8Array>;

export function secretsFromRows(rows: readonly RowOf<'sealed_secret'>[]): SealedSecrets {
  return new Map(rows.map(({ name, sealed }) => [name, sealed]));
}

/** Makes a key that a new store gets once and keeps for good. */
export function makeKey(name: typeof AUDIT_KEY | typeof IDENTITY_KEY): Uint8Array {
  if (name === AUDIT_KEY) return randomBytes(AUDIT_KEY_BYTES);
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'der' });
}

/** The fingerprint of the master key that seals the store; `null` if it has no secret yet. */
export function findSealingFingerprint(secrets: SealedSecrets): string | null {
  const sealed = [AUDIT_KEY, IDENTITY_KEY].map((name) => secrets.get(name));
  const found = sealed.find((secret) => secret !== undefined);
  return found === undefined ? null : fingerprintOfSeal(found);
}

/** Returns the candidate that seals the store; the first one if the store is new. */
export function chooseMasterKey(secrets: SealedSecrets, candidates: readonly MasterKey[]): MasterKey {
  const sealedBy = findSealingFingerprint(secrets);
  const found = candidates.find((key) => fingerprint(key) === sealedBy) ?? candidates[0];
  if (found === undefined) throw new SealError('There is no master key to open the store with.');
  return found;
}

export function openCloudKeys(secrets: SealedSecrets, masterKeys: readonly MasterKey[]): CloudKeys {
  const open = (name: string) => openText(secrets, name, masterKeys);
  return { apiKey: open('cloud_api_key'), sharedKey: open('cloud_shared_key') };
}

function openText(secrets: SealedSecrets, name: string, masterKeys: readonly MasterKey[]): string | null {
  const sealed = secrets.get(name);
  if (sealed === undefined) return null;
  return Buffer.from(unsealWithAny(masterKeys, name, sealed)).toString('utf8');
}

export function openWebhookSecret(secrets: SealedSecrets, masterKeys: readonly MasterKey[]): string | null {
  return openText(secrets, 'webhook_secret', masterKeys);
}

export function openSecondFactor(
  secrets: SealedSecrets,
  account: string,
  masterKeys: readonly MasterKey[],
): string | null {
  return openText(secrets, `second_factor:${account}`, masterKeys);
}

/** The keys that sign grants, the newest first; none before the first grant. */
export function openGrantKeys(secrets: SealedSecrets, masterKeys: readonly MasterKey[]): readonly GrantKey[] {
  return JSON.parse(openText(secrets, 'grant_keys', masterKeys) ?? '[]');
}

export function openChannels(secrets: SealedSecrets, masterKeys: readonly MasterKey[]): readonly Channel[] {
  return JSON.parse(openText(secrets, 'channels', masterKeys) ?? '[]');
}

/** `null` in the row: the value is sealed. */
export function openSetting(row: SettingRow, masterKeys: readonly MasterKey[]): StoredSetting {
  const { name, value, changed_by: changedBy, changed_at: changedAt, sealed } = row;
  const secrets = new Map(sealed === null ? [] : [[`setting:${name}`, sealed]]);
  const opened = value === 'null' ? openText(secrets, `setting:${name}`, masterKeys) : value;
  return { name, value: JSON.parse(opened ?? value), changedBy, changedAt };
}

/** Whether it is a secret that release 0.1.0 kept as plain text. */
export function isPlain({ name, value }: RowOf<'setting'>): boolean {
  return SEALED_SETTINGS.includes(name) && value !== 'null';
}

export function sealSetting({ name: setting, value }: RowOf<'setting'>, masterKey: MasterKey) {
  const name = `setting:${setting}`;
  return { name, sealed: seal(masterKey, name, Buffer.from(value)) };
}

/** What a change to the secrets is applied to. */
interface SealTarget {
  readonly statements: Statements;
  masterKey: MasterKey;
}

export function putSecret({ statements, masterKey }: SealTarget, name: string, secret: Uint8Array): void {
  statements.sealed_secret.put({ name, sealed: seal(masterKey, name, secret) });
}

/** Seals every secret again, known or not: one that was left out could never be opened again. */
export function resealSecrets(target: SealTarget, newKey: MasterKey): void {
  const secrets = target.statements.listSecrets
    .all()
    .map(({ name, sealed }) => ({ name, secret: unseal(target.masterKey, name, sealed) }));
  target.masterKey = newKey;
  for (const { name, secret } of secrets) putSecret(target, name, secret);
}
