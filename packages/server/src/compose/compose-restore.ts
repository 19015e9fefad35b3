import { parseTimestamp } from '@berth/protocol/timestamp';
import {
  BackupError,
  type BackupFacts,
  extractBackup,
  requireAuthentic,
} from '@berth/shell/files/backup-file';
import type { Restored, RestoreRequest } from '../cli/command.ts';
import { type Instant, instant, say } from '../core/nouns/instant.ts';
import type { MasterKey } from '../secrets/seal.ts';
import { findLosses } from '../services/backups/find-losses.ts';
import { copyStore } from '../services/backups/move-store.ts';
import { findBackupKey, stageKey } from '../services/backups/restore-key.ts';
import {
  keepGivenBack,
  leaveOutSettings,
  listGivenBack,
  pauseChannels,
  putPendingAside,
} from '../services/backups/restore-store.ts';
import { systemClock } from '../store/clock.ts';
import { SCHEMA_VERSION } from '../store/engine/migrations.ts';
import { describeHolder, lockFolder } from '../store/folder-lock.ts';
import { openPostgresReplacing } from '../store/postgres/move/postgres-target.ts';
import { RestoredDraft } from '../store/sqlite/move/restored-draft.ts';
import { openFileSource } from '../store/sqlite/move/sqlite-source.ts';
import { refuseMoved } from '../store/sqlite/wire/moved-mark.ts';
import type { Holdings } from '../store/store-copy.ts';
import { findOtherHardware } from './compose-move.ts';
import { createFolderOrExplain, findMasterKey, isShared, type StoreOptions } from './compose-store.ts';

type RestoreOptions = Pick<StoreOptions, 'config' | 'env'>;

/** Replaces the data of a stopped server with that of a backup: all of it or nothing. */
export async function restoreBackup(options: RestoreOptions, request: RestoreRequest): Promise<Restored> {
  const { config } = options;
  createFolderOrExplain(config.data);
  const lock = lockFolder(config.data);
  if (lock === null) {
    const holder = describeHolder(config.data);
    throw new BackupError(
      `${config.data} is in use by ${holder}. Stop the server first. Nothing was changed.`,
    );
  }
  let restored: Omit<Restored, 'hardware_id_before'>;
  try {
    restored = await restoreLocked(options, request);
  } finally {
    lock.release();
  }
  return { ...restored, hardware_id_before: isShared(config) ? null : await findOtherHardware(options) };
}

async function restoreLocked(options: RestoreOptions, request: RestoreRequest) {
  const { config } = options;
  if (!isShared(config)) refuseMoved(config.data);
  const draft = new RestoredDraft(config.data);
  try {
    const opened = await openBackup(options, request, draft);
    const replacement = isShared(config) ? toDatabase : toFolder;
    const { replaced, ...rest } = await replacement(options, draft, opened);
    const { facts, audit, holdings } = opened;
    return {
      made_at: facts.made_at,
      made_by: facts.made_by,
      audit,
      replaced_at: replaced?.mark == null ? null : say(instant(replaced.mark)),
      ...compare(replaced, holdings),
      ...rest,
    };
  } finally {
    draft.discard();
  }
}

interface Replacement extends Pick<Restored, 'restored_to' | 'kept' | keyof Recorded> {
  readonly replaced: Holdings | null;
}

/** The data is replaced by one rename. */
async function toFolder(
  options: RestoreOptions,
  draft: RestoredDraft,
  opened: OpenedBackup,
): Promise<Replacement> {
  const replaced = draft.findReplaced();
  const recorded = await record(draft, opened, replaced);
  const stamp = makeStamp();
  const kept = await withKey(options, opened.masterKey, stamp, async () => draft.commit(stamp));
  return { replaced, kept, restored_to: options.config.data, ...recorded };
}

/** The data is replaced by one transaction. */
async function toDatabase(
  options: RestoreOptions,
  draft: RestoredDraft,
  opened: OpenedBackup,
): Promise<Replacement> {
  const { masterKey, facts } = opened;
  const { url, prepareStatements } = options.config.database;
  const key = { value: Buffer.from(masterKey).toString('hex'), file: '' };
  const stamp = makeStamp();
  const database = await openPostgresReplacing({ url, prepareStatements, masterKey: key }, stamp);
  const { target, replaced, kept: schema } = database;
  try {
    const recorded = await record(draft, opened, replaced);
    const source = openFileSource(draft.file, masterKey, facts.identity);
    const kept = await withKey(options, masterKey, stamp, async () => {
      await copyStore(source, target);
      return schema === null ? [] : [`the schema ${schema}`];
    }).finally(() => source.close());
    return { replaced, kept, restored_to: target.place, ...recorded };
  } finally {
    await target.close();
  }
}

/** The key is where either data finds it before the data is replaced. Returns what is kept, with the key. */
async function withKey(
  options: RestoreOptions,
  masterKey: MasterKey,
  stamp: string,
  replace: () => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const key = stageKey(findMasterKey(options), masterKey, stamp);
  const kept = await replace();
  key.settle();
  return [...kept, ...key.kept];
}

/** To the millisecond, so that each of several restores keeps what it replaces. */
function makeStamp(): string {
  return say(systemClock.readWall()).replace(/[:.-]/g, '');
}

type Recorded = Pick<Restored, 'uncertain_reports' | 'given_back' | 'settings_left_out' | 'channels_paused'>;

/** Records the restore in the draft, and takes over what must not be forgotten. */
async function record(
  draft: RestoredDraft,
  { facts, masterKey, holdings }: OpenedBackup,
  replaced: Holdings | null,
): Promise<Recorded> {
  let recorded: Recorded = {
    uncertain_reports: 0,
    given_back: [],
    settings_left_out: [],
    channels_paused: [],
  };
  const isSame = replaced?.identity === holdings.identity;
  const givenBack = isSame ? listGivenBack(replaced) : [];
  const event = {
    kind: 'backup_restored',
    madeAt: instant(parseTimestamp(facts.made_at) ?? 0),
    madeBy: facts.made_by,
    replacedAt: (replaced?.mark ?? null) as Instant | null,
    by: 'control',
  } as const;
  await draft.record(masterKey, { event, givenBack }, async (store) => {
    const uncertain = await putPendingAside(store);
    const kept = await keepGivenBack(store, givenBack, holdings);
    const named = kept.map(({ id, product }) => ({ license_id: id, product }));
    const leftOut = await leaveOutSettings(store);
    const paused = await pauseChannels(store);
    recorded = {
      uncertain_reports: uncertain,
      given_back: named,
      settings_left_out: leftOut,
      channels_paused: paused,
    };
  });
  return recorded;
}

function compare(
  replaced: Holdings | null,
  restored: Holdings,
): Pick<Restored, 'lost' | 'replaced_other_server'> {
  if (replaced === null) return { lost: null, replaced_other_server: false };
  const isOther = replaced.identity !== restored.identity;
  return { lost: isOther ? null : findLosses(replaced, restored), replaced_other_server: isOther };
}

interface OpenedBackup extends Pick<Restored, 'audit'> {
  readonly facts: BackupFacts;
  readonly masterKey: MasterKey;
  readonly holdings: Holdings;
}

/** Checks everything about a backup and writes its data to the draft. */
async function openBackup(
  options: RestoreOptions,
  { file, passphrase, keyFile }: RestoreRequest,
  draft: RestoredDraft,
): Promise<OpenedBackup> {
  const backup = extractBackup(file, draft.file);
  const { facts } = backup;
  requireOurs(facts);
  const masterKey = await findBackupKey(facts, { passphrase, keyFile, source: findMasterKey(options) });
  requireAuthentic(backup, masterKey);
  const { problems, audit, holdings } = draft.check(masterKey);
  const [problem] =
    holdings.identity === facts.identity ? problems : ['It is of another server than it says.'];
  if (problem !== undefined) {
    throw new BackupError(`The data in the backup is broken. ${problem} Nothing was changed.`);
  }
  const { chains, links, events } = audit;
  return { facts, masterKey, audit: { chains, links, events }, holdings };
}

function requireOurs({ program, schema_version: version, made_by }: BackupFacts): void {
  if (program !== 'server') {
    throw new BackupError('This is the backup of a licensing cloud. Use "berth cloud restore FILE".');
  }
  if (version <= SCHEMA_VERSION) return;
  throw new BackupError(
    `The backup was made by a newer Berth (${made_by}, schema ${version}; this one knows ` +
      `${SCHEMA_VERSION}). Restore it with that version. Nothing was changed.`,
  );
}
