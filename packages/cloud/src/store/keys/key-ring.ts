import type { KeyObject } from 'node:crypto';
import { createPublicKey } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fingerprintKey } from '@berth/protocol/cloud/vendor-signature';
import { type Refusal, refuse } from '../../core/refusal.ts';
import { type CloudStore, record, transact } from '../cloud-store.ts';
import { DataFolderError, missingKey } from '../data-folder-error.ts';
import { generateSigningKey, readKeyFile, writeKeyFile } from './key-files.ts';

/** The file of the first key. Later ones have their fingerprint in the name. */
export const FIRST_KEY_FILE = 'signing-key.pem';

/** The vendor's keys that are in use. */
export interface SigningKeys {
  /** Signs answers and files. */
  readonly current: KeyObject;
  /** Certificates are signed with all of them, the current one first. */
  readonly all: readonly KeyObject[];
}

export interface ListedSigningKey {
  readonly fingerprint: string;
  readonly file: string;
  readonly isSigning: boolean;
  /** `null`: the first key. */
  readonly addedAt: number | null;
}

/** The keys in a data folder. Another process may change them at any time. */
export interface KeyRing {
  read(): SigningKeys;
  list(): readonly ListedSigningKey[];
  /** Makes the next key. It signs certificates at once, and answers after `switch`. */
  add(now: number): ListedSigningKey | Refusal;
  /** Lets the other key sign answers and files. */
  switch(now: number): ListedSigningKey | Refusal;
  /** Ends the key that does not sign answers, and removes its file. */
  retire(now: number): ListedSigningKey | Refusal;
}

export function openKeyRing(store: CloudStore, folder: string): KeyRing {
  listFirst(store, folder);
  removeRetired(store, folder);
  const known = new Map<string, KeyObject>();
  const load = (): SigningKeys => {
    const all = listKeys(store).map(({ fingerprint, file }) => {
      const key = known.get(fingerprint) ?? readListed(join(folder, file), fingerprint);
      known.set(fingerprint, key);
      return key;
    });
    return { current: all[0] as KeyObject, all };
  };
  let last = load();
  return {
    read() {
      try {
        last = load();
      } catch {
        // Even an answer that says that the data cannot be reached has to be signed.
      }
      return last;
    },
    list: () => listKeys(store),
    add: (now) => addKey(store, folder, now),
    switch: (now) => switchKeys(store, now),
    retire(now) {
      const retired = retireKey(store, now);
      removeRetired(store, folder);
      return retired;
    },
  };
}

/** For a new folder, or one whose creation was interrupted. */
function listFirst(store: CloudStore, folder: string): void {
  if (listKeys(store).length > 0) return;
  const file = join(folder, FIRST_KEY_FILE);
  if (!existsSync(file)) throw missingKey('signing', file);
  const fingerprint = fingerprintOf(readKeyFile(file));
  transact(store, () => {
    if (listKeys(store).length > 0) return;
    store.sql.addSigningKey.run(fingerprint, FIRST_KEY_FILE, 'signing', null);
  });
}

/** The file goes first: after a crash in between, the next start finds the key in the list. */
function removeRetired({ sql }: CloudStore, folder: string): void {
  for (const { fingerprint, file } of sql.listRetiredKeys.all()) {
    rmSync(join(folder, file as string), { force: true });
    sql.removeSigningKey.run(fingerprint as string);
  }
}

/** The one that signs comes first. */
function listKeys({ sql }: CloudStore): readonly ListedSigningKey[] {
  return sql.listSigningKeys.all().map((row) => ({
    fingerprint: row.fingerprint as string,
    file: row.file as string,
    isSigning: row.state === 'signing',
    addedAt: row.added_at as number | null,
  }));
}

function readListed(file: string, fingerprint: string): KeyObject {
  if (!existsSync(file)) throw missingKey('signing', file);
  const key = readKeyFile(file);
  if (fingerprintOf(key) === fingerprint) return key;
  throw new DataFolderError(`${file} is a different signing key. Restore the right one from a backup.`);
}

export function fingerprintOf(key: KeyObject): string {
  return fingerprintKey(createPublicKey(key));
}

/** Longer names say nothing more to a person. */
const NAMED_DIGITS = 16;

function addKey(store: CloudStore, folder: string, now: number): ListedSigningKey | Refusal {
  const full = () =>
    listKeys(store).length < 2
      ? null
      : refuse('validation_error', 'There are two signing keys. Retire the one that does not sign first.');
  const refusal = full();
  if (refusal !== null) return refusal;
  const key = generateSigningKey();
  const fingerprint = fingerprintOf(key);
  const file = `signing-key-${fingerprint.slice(0, NAMED_DIGITS)}.pem`;
  writeKeyFile(join(folder, file), key);
  const added = transact(store, () => {
    // Another process may have added one meanwhile.
    const late = full();
    if (late !== null) return late;
    store.sql.addSigningKey.run(fingerprint, file, 'waiting', now);
    record(store, { kind: 'signing_key_added', facts: { fingerprint } }, null, now);
    return { fingerprint, file, isSigning: false, addedAt: now };
  });
  if ('code' in added) rmSync(join(folder, file));
  return added;
}

function switchKeys(store: CloudStore, now: number): ListedSigningKey | Refusal {
  return transact(store, () => {
    const [old, next] = listKeys(store);
    if (old === undefined || next === undefined) return refuseAlone();
    store.sql.setKeyState.run('waiting', old.fingerprint);
    store.sql.setKeyState.run('signing', next.fingerprint);
    const facts = { fingerprint: next.fingerprint, instead_of: old.fingerprint };
    record(store, { kind: 'signing_key_switched', facts }, null, now);
    return { ...next, isSigning: true };
  });
}

function retireKey(store: CloudStore, now: number): ListedSigningKey | Refusal {
  return transact(store, () => {
    const other = listKeys(store)[1];
    if (other === undefined) return refuseAlone();
    store.sql.setKeyState.run('retired', other.fingerprint);
    const { fingerprint } = other;
    record(store, { kind: 'signing_key_retired', facts: { fingerprint } }, null, now);
    return other;
  });
}

function refuseAlone(): Refusal {
  return refuse(
    'validation_error',
    'There is only one signing key. Make the next one with "signing-key add".',
  );
}
