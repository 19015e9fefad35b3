import { randomBytes } from 'node:crypto';
import { createReadStream, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { RequestError } from '@berth/protocol/request-error';
import { type BackupFacts, readFacts } from '@berth/shell/files/backup-file';
import { placeFile } from '@berth/shell/files/place-file';
import type { BackupHealth } from '../../core/doctor/judge-backup.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import { type BackupSchedule, dueAt, isOverdue } from '../../core/nouns/backup-schedule.ts';
import { type Instant, later, MINUTE_MS, plus, say } from '../../core/nouns/instant.ts';
import { BACKUP_FAILED, backupKey, exportKey } from '../../core/nouns/notice-key.ts';
import type { Note } from '../../core/system-command.ts';
import type { Store } from '../../store/store.ts';
import type { KeyCustody } from '../keys/key-custody.ts';
import { createRoom } from '../lending/room.ts';
import type { MakeBackup } from './backup-job.ts';
import { prepareFolder, readPassphraseFile } from './backup-places.ts';

interface BackupStatus extends BackupHealth {
  /** The newest file of the schedule. */
  readonly lastFile: string | null;
}

/** A backup of the schedule. */
interface KeptBackup {
  readonly file: string;
  readonly bytes: number;
  readonly madeAt: string | null;
  /** Whether it contains the master key; `null` if the file is damaged. */
  readonly withKey: boolean | null;
}

/** How scheduled backups are made. */
export interface BackupPlan {
  readonly folder: string;
  /** `null`: never. */
  readonly schedule: BackupSchedule | null;
  readonly keep: number;
  /** Empty: backups do not contain the master key. */
  readonly passphraseFile: string;
}

interface BackupOptions {
  readonly store: Store;
  readonly custody: Pick<KeyCustody, 'lend' | 'describe'>;
  readonly make: MakeBackup;
  readonly version: string;
  /** For drafts of what is sent. */
  readonly dataFolder: string;
  /** Settings that may change at any time. */
  readonly readPlan: () => BackupPlan;
}

/** Each needs as much disk as the data, until it is sent. */
const MAX_AT_ONCE = 2;
const RETRY_AFTER_SECONDS = 60;
/** After a failure; the loop comes more often. */
const RETRY_MS = 10 * MINUTE_MS;
const SCHEDULED = /^berth-\d{8}T\d{6}Z\.backup$/;
const DRAFT = /^backup-[\da-f]{16}\.part/;

/** Makes backups: for whoever asks, and by a schedule. */
export class Backups {
  readonly #options: BackupOptions;
  readonly #room = createRoom(
    MAX_AT_ONCE,
    `${MAX_AT_ONCE} backups are already being made. Try again when one has ended.`,
    RETRY_AFTER_SECONDS,
  );
  readonly #drafts = new Set<string>();
  #error: string | null = null;
  #retryAt: Instant | null = null;

  constructor(options: BackupOptions) {
    this.#options = options;
  }

  /** A new backup in parts. With a passphrase, it contains the master key. */
  async send(passphrase: string | null, by: Actor, signal: AbortSignal) {
    const leave = this.#room.enter();
    const draft = this.#openDraft();
    const end = () => {
      this.#closeDraft(draft);
      leave();
    };
    try {
      await this.#make(draft, passphrase, by);
      if (signal.aborted) throw new RequestError('bad_request', 'The client disconnected.');
      const { size: bytes } = statSync(draft);
      await this.#note({ kind: 'backup_made', file: null, bytes, withKey: passphrase !== null, by });
      const stream = createReadStream(draft).once('close', end);
      signal.addEventListener('abort', () => stream.destroy());
      return Readable.toWeb(stream) as ReadableStream<Uint8Array>;
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Makes the scheduled backup if it is due, and records if it fails. Returns its file, or null. */
  async keepSchedule(): Promise<string | null> {
    const { readPlan, store } = this.#options;
    const plan = readPlan();
    const { schedule } = plan;
    if (schedule === null) return null;
    const { now } = await store.keepClock();
    const lastAt = await this.#findLast('schedule');
    const isDue = lastAt === null || now >= dueAt(schedule, lastAt);
    if (!isDue || (this.#retryAt !== null && now < this.#retryAt)) return null;
    try {
      return await this.#makeScheduled(now, plan);
    } catch (error) {
      this.#retryAt = plus(now, RETRY_MS);
      this.#error = (error as Error).message;
      await this.#note({ kind: 'backup_failed', reason: this.#error });
      throw error;
    }
  }

  /** Records, once, that there was none for too long, whatever the reason. */
  async watchSchedule(): Promise<void> {
    const { readPlan, store } = this.#options;
    const { schedule } = readPlan();
    const lastAt = await this.#findLast('schedule');
    if (schedule === null || lastAt === null) return;
    const { now } = await store.keepClock();
    const due = dueAt(schedule, lastAt);
    if (isOverdue(schedule, due, now)) await this.#note({ kind: 'backup_overdue', dueAt: due });
  }

  async describe(): Promise<BackupStatus> {
    const { readPlan, store } = this.#options;
    const { schedule, folder } = readPlan();
    const [scheduled, requested] = [await this.#findLast('schedule'), await this.#findLast('request')];
    const failingAt = (await store.read({ kind: 'find_notice', key: BACKUP_FAILED })) as Instant | null;
    const last = [scheduled, requested].filter((at) => at !== null);
    return {
      lastAt: last.length === 0 ? null : last.reduce(later),
      lastFile: listFiles(folder).at(-1) ?? null,
      dueAt: schedule === null || scheduled === null ? null : dueAt(schedule, scheduled),
      failingAt,
      error: failingAt === null ? null : this.#error,
      isKeyKept: await this.#isKeyKept(),
    };
  }

  /** The backups of the schedule, the newest first. */
  list(limit: number) {
    const { folder } = this.#options.readPlan();
    return { folder, backups: listFiles(folder).slice(-limit).reverse().map(describeFile) };
  }

  /** An exported key is in a file or a backup that was made to be kept. */
  async #isKeyKept(): Promise<boolean> {
    const { custody, store, dataFolder } = this.#options;
    const { file, fingerprint } = await custody.describe();
    if (file === null || dirname(file) !== dataFolder) return true;
    return (await store.read({ kind: 'find_notice', key: exportKey(fingerprint) })) !== null;
  }

  async #makeScheduled(now: Instant, { folder, keep, passphraseFile }: BackupPlan): Promise<string> {
    prepareFolder(folder);
    const passphrase = passphraseFile === '' ? null : readPassphraseFile(passphraseFile);
    for (const name of readdirSync(folder)) if (LEFT.test(name)) rmSync(join(folder, name));
    const file = join(folder, `berth-${say(now).replace(/[:-]|\.\d+/g, '')}.backup`);
    await this.#make(`${file}${PART}`, passphrase, 'schedule');
    placeFile(`${file}${PART}`, file, true);
    const { size: bytes } = statSync(file);
    await this.#note({ kind: 'backup_made', file, bytes, withKey: passphrase !== null, by: 'schedule' });
    [this.#retryAt, this.#error] = [null, null];
    for (const old of listFiles(folder).slice(0, -keep)) rmSync(old, { force: true });
    return file;
  }

  #make(to: string, passphrase: string | null, by: Actor): Promise<BackupFacts> {
    const { custody, make, store, version } = this.#options;
    return custody.lend(passphrase, by, async (masterKey, sealedKeys) => {
      const { now } = await store.keepClock();
      return make({ to, masterKey, sealedKeys, madeBy: version, madeAt: say(now) });
    });
  }

  async #findLast(origin: 'schedule' | 'request'): Promise<Instant | null> {
    const found = await this.#options.store.read({ kind: 'find_notice', key: backupKey(origin) });
    return found as Instant | null;
  }

  async #note(notice: Note['notice']): Promise<void> {
    await this.#options.store.execute({ kind: 'note', notice });
  }

  /** Removes drafts that a crash has left. */
  #openDraft(): string {
    const { dataFolder } = this.#options;
    for (const name of readdirSync(dataFolder).filter((one) => DRAFT.test(one))) {
      const left = join(dataFolder, name);
      if (!this.#drafts.has(left)) rmSync(left, { force: true });
    }
    const draft = join(dataFolder, `backup-${randomBytes(8).toString('hex')}.part`);
    this.#drafts.add(draft);
    return draft;
  }

  #closeDraft(draft: string): void {
    rmSync(draft, { force: true });
    this.#drafts.delete(draft);
  }
}

const PART = '.part';
const LEFT = /^berth-\d{8}T\d{6}Z\.backup\.part/;

/** The backups of the schedule, oldest first. */
function listFiles(folder: string): readonly string[] {
  try {
    const names = readdirSync(folder).filter((name) => SCHEDULED.test(name));
    return names.sort().map((name) => join(folder, name));
  } catch {
    return [];
  }
}

function describeFile(file: string): KeptBackup {
  const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  try {
    const { made_at: madeAt, sealed_keys } = readFacts(file);
    return { file, bytes, madeAt, withKey: sealed_keys !== null };
  } catch {
    return { file, bytes, madeAt: null, withKey: null };
  }
}
