import { createHash, createPrivateKey, type KeyObject } from 'node:crypto';
import { chmodSync, existsSync, linkSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { backup as copy, DatabaseSync } from 'node:sqlite';
import {
  addFooter,
  BackupError,
  type BackupFacts,
  extractBackup,
  requireAuthentic,
} from '@berth/shell/files/backup-file';
import { explainFileError } from '@berth/shell/files/explain-file-error';
import { MIN_PASSPHRASE_LENGTH, openSealed, sealText } from '@berth/shell/files/passphrase-seal';
import { placeFile } from '@berth/shell/files/place-file';
import { type CloudStore, createCloudStore, record } from './cloud-store.ts';
import { AIRGAP_KEY_FILE, DATABASE_FILE, listKeyFiles } from './data-folder.ts';
import { openDatabase, SCHEMA_VERSION } from './database.ts';
import { type ListedEvent, listEvents } from './events.ts';
import { readKeyFile, writeKeyFile } from './keys/key-files.ts';
import { fingerprintOf, type KeyRing } from './keys/key-ring.ts';

const KEYS_FORMAT = 'berth cloud keys';

/** Private keys by the names of their files: all signing keys, and the air-gap key. */
type Keys = ReadonlyMap<string, KeyObject>;

interface BackupOrder {
  readonly keyRing: KeyRing;
  readonly airgapKey: KeyObject;
  readonly file: string;
  readonly replaces: boolean;
  /** Includes the keys; `null`: they are not in the backup. */
  readonly passphrase: string | null;
  readonly version: string;
  readonly now: number;
}

/** Writes all data of a cloud, running or stopped, to one file, as of one moment. */
export async function writeBackup({ db }: CloudStore, order: BackupOrder): Promise<BackupFacts> {
  const { file, replaces, passphrase, version, now, keyRing, airgapKey } = order;
  const signing = keyRing.read();
  if (!replaces && existsSync(file)) throw exists(file);
  const part = `${file}.${process.pid}.part`;
  const sealed = passphrase === null ? null : await sealKeys(nameKeys(order), passphrase);
  try {
    await copy(db, part, { rate: ALL_PAGES });
    inDatabase(part, (draft) => draft.exec('PRAGMA journal_mode = DELETE'));
    inDatabase(part, requireSound);
    const facts = addFooter(part, factsOf(sealed), secretOf(signing.current), () => {});
    chmodSync(part, 0o600);
    placeFile(part, file, replaces);
    return facts;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw exists(file);
    if (error instanceof BackupError || !(error instanceof Error) || !('syscall' in error)) throw error;
    throw new BackupError(explainFileError(file, error, 'written'));
  } finally {
    discard(part);
  }

  function factsOf(sealedKeys: object | null) {
    return {
      program: 'cloud',
      made_by: version,
      made_at: new Date(now).toISOString(),
      schema_version: SCHEMA_VERSION,
      store: 'sqlite',
      identity: fingerprint(airgapKey),
      key_fingerprint: fingerprint(signing.current),
      sealed_keys: sealedKeys,
    } as const;
  }
}

const LOGS = ['-journal', '-wal', '-shm'];
/** At once: the copy would start again with every commit of the running cloud. */
const ALL_PAGES = 1e9;

function exists(file: string): BackupError {
  return new BackupError(`${file} already exists. Choose another name, or replace it with --replace.`);
}

function fingerprint(key: KeyObject): string {
  return fingerprintOf(key).slice(0, 16);
}

function nameKeys({ keyRing, airgapKey }: BackupOrder): Keys {
  const keys = keyRing.read().all;
  const files = keyRing.list().map(({ file }, index) => [file, keys[index] as KeyObject] as const);
  return new Map([...files, [AIRGAP_KEY_FILE, airgapKey]]);
}

function secretOf(signingKey: KeyObject): Buffer {
  const der = signingKey.export({ type: 'pkcs8', format: 'der' });
  return createHash('sha256').update('berth cloud backup').update(der).digest();
}

async function sealKeys(keys: Keys, passphrase: string): Promise<object> {
  if (passphrase.normalize('NFC').length < MIN_PASSPHRASE_LENGTH) {
    throw new BackupError(`The passphrase must have at least ${MIN_PASSPHRASE_LENGTH} characters.`);
  }
  const toPem = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString();
  const texts = [...keys].map(([name, key]) => [name, toPem(key)]);
  return sealText(KEYS_FORMAT, JSON.stringify(Object.fromEntries(texts)), passphrase);
}

function inDatabase<T>(file: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(file);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

/** SQLite's own checks, and that no row is of a license that does not exist. */
function requireSound(db: DatabaseSync): void {
  const integrity = db.prepare('PRAGMA integrity_check').get()?.integrity_check;
  if (integrity !== 'ok') throw new BackupError(`The database is damaged: ${integrity}.`);
  if (db.prepare('PRAGMA foreign_key_check').get() === undefined) return;
  throw new BackupError('The database has rows of a license or product that does not exist.');
}

interface RestoreOrder {
  readonly folder: string;
  readonly file: string;
  readonly passphrase: string | null;
  readonly now: number;
}

export interface RestoredCloud {
  readonly facts: BackupFacts;
  /** The file with the replaced data; `null`: there was none. */
  readonly kept: string | null;
  /** What happened after the backup, newest first; `null`: there is nothing to compare with. */
  readonly lost: readonly ListedEvent[] | null;
}

const MAX_LOST = 1000;

/** Replaces the data of a stopped cloud with that of a backup, by one rename. The folder must exist. */
export async function restoreCloud(order: RestoreOrder): Promise<RestoredCloud> {
  const { folder, file, now } = order;
  const within = (name: string) => join(folder, name);
  const [draft, database] = [within(`${DATABASE_FILE}.restoring`), within(DATABASE_FILE)];
  discard(draft);
  const old = existsSync(database) ? takeOver(database) : null;
  try {
    const backup = extractBackup(file, draft);
    const { facts } = backup;
    requireOurs(facts);
    const keys = await findKeys(order, facts);
    requireAuthentic(backup, secretOf(findSigning(keys, facts, folder)));
    const lost = prepareDraft(draft, { old, keys, facts, folder, now });
    for (const [name, key] of keys) writeKeyFile(within(name), key);
    const stamp = new Date(now).toISOString().replace(/[:.-]/g, '');
    const kept = old === null ? null : `${database}.replaced-${stamp}`;
    if (kept !== null) linkSync(database, kept);
    placeFile(draft, database, true);
    return { facts, kept, lost };
  } finally {
    old?.close();
    discard(draft);
  }
}

function discard(draft: string): void {
  for (const suffix of ['', ...LOGS]) rmSync(`${draft}${suffix}`, { force: true });
}

/** Leaves WAL mode, which fails while another process has the database open, and locks it. */
function takeOver(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: 0 });
  try {
    const mode = db.prepare('PRAGMA journal_mode = DELETE').get()?.journal_mode;
    if (mode !== 'delete') throw new Error('It is in use.');
    db.exec('BEGIN EXCLUSIVE');
    return db;
  } catch (error) {
    db.close();
    throw new BackupError(
      `${file} is in use, or damaged (${(error as Error).message}). Stop the cloud first; if the file is ` +
        'damaged, move it away. Nothing was changed.',
    );
  }
}

function requireOurs({ program, schema_version: version, made_by }: BackupFacts): void {
  if (program !== 'cloud') throw new BackupError('This is the backup of a server. Use "berth restore FILE".');
  if (version <= SCHEMA_VERSION) return;
  throw new BackupError(
    `The backup was made by a newer cloud (${made_by}, schema ${version}; this one knows ` +
      `${SCHEMA_VERSION}). Restore it with that version. Nothing was changed.`,
  );
}

/** The keys of the backup: from it, or from the folder, which must not have others under the same names. */
async function findKeys({ folder, passphrase }: RestoreOrder, facts: BackupFacts): Promise<Keys> {
  const here = new Map(listKeyFiles(folder).map((file) => [basename(file), readKeyFile(file)]));
  if (passphrase === null) return here;
  const keys = await openKeys(facts, passphrase);
  for (const [name, key] of keys) {
    const other = here.get(name);
    if (other === undefined || fingerprintOf(other) === fingerprintOf(key)) continue;
    throw new BackupError(
      `${join(folder, name)} is another key than that of the backup. Use an empty folder. ` +
        'Nothing was changed.',
    );
  }
  return keys;
}

/** The key that signed when the backup was made; it proves that the backup is ours. */
function findSigning(keys: Keys, facts: BackupFacts, folder: string): KeyObject {
  const { key_fingerprint: wanted, identity } = facts;
  const signing = [...keys.values()].find((key) => fingerprint(key) === wanted);
  const airgap = keys.get(AIRGAP_KEY_FILE);
  if (signing !== undefined && airgap !== undefined && fingerprint(airgap) === identity) return signing;
  throw lacksKeys(`the signing key ${wanted} and the air-gap key ${identity}`, folder);
}

function lacksKeys(what: string, folder: string): BackupError {
  return new BackupError(
    `The backup needs ${what}. Copy their files to ${folder}, or use --passphrase-file FILE if the backup ` +
      'was made with a passphrase. Nothing was changed.',
  );
}

async function openKeys({ sealed_keys: sealed }: BackupFacts, passphrase: string): Promise<Keys> {
  if (sealed === null) {
    throw new BackupError(
      'The backup was made without a passphrase and does not contain keys. Nothing was changed.',
    );
  }
  const { text, problem } = await openSealed(KEYS_FORMAT, { ...sealed }, passphrase);
  if (problem !== null) throw new BackupError(`${problem} Nothing was changed.`);
  const texts = Object.entries(JSON.parse(text) as Record<string, string>);
  return new Map(texts.map(([name, pem]) => [name, createPrivateKey(pem)]));
}

interface Draft {
  readonly old: DatabaseSync | null;
  readonly keys: Keys;
  readonly facts: BackupFacts;
  readonly folder: string;
  readonly now: number;
}

/** Brings the draft up to date, checks it, records the restore in it, and returns what it lacks. */
function prepareDraft(draft: string, { old, keys, facts, folder, now }: Draft) {
  const db = openDatabase(draft);
  try {
    requireSound(db);
    const store = createCloudStore(db);
    for (const { fingerprint: wanted, file } of store.sql.listSigningKeys.all()) {
      const key = keys.get(file as string);
      if (key !== undefined && fingerprintOf(key) === wanted) continue;
      throw lacksKeys(`the signing key ${String(wanted).slice(0, 16)} in ${file}`, folder);
    }
    const [last] = listEvents(store, null, 1);
    const lost = old === null ? null : findLost(old, last?.seq ?? 0);
    record(
      store,
      { kind: 'backup_restored', facts: { made_at: facts.made_at, made_by: facts.made_by } },
      null,
      now,
    );
    db.exec('PRAGMA journal_mode = DELETE');
    return lost;
  } finally {
    db.close();
  }
}

/** An older schema may lack what the list reads. */
function findLost(old: DatabaseSync, lastSeq: number): readonly ListedEvent[] | null {
  try {
    return listEvents(createCloudStore(old), null, MAX_LOST).filter(({ seq }) => seq > lastSeq);
  } catch {
    return null;
  }
}
