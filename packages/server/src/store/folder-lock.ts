import { existsSync, lchownSync, lstatSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type explainWritable, isContainer, type SharedFile } from '@berth/protocol/files/file-sharing';
import { Fault } from '../core/nouns/fault.ts';
import { finishRestore } from './finish-restore.ts';
import { explainFolder } from './folder-access.ts';
import { readText } from './machine-id.ts';
import type { Store } from './store.ts';

export const LOCK_FILE = 'berth.lock';
/** Who has the lock, for people. It says nothing about whether somebody has it. */
const HOLDER_FILE = 'berth.pid';
const SQLITE_BUSY = 5;

/** The right to use a data folder, held until it is released or the process ends. */
export interface FolderLock {
  release(): void;
}

/** The first problem that `explain` finds with these files, and what to do about it; `null`: none. */
export function explainSharing(
  paths: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  explain: typeof explainWritable,
): string | null {
  const user = {
    id: process.getuid?.() ?? null,
    isContainer: isContainer(env, { exists: existsSync, read: readText }),
  };
  const sentences = paths.filter((path) => existsSync(path)).map((path) => explain(statFile(path), user));
  return sentences.find((sentence) => sentence !== null) ?? null;
}

function statFile(path: string): SharedFile {
  const stats = statSync(path);
  const isFolder = stats.isDirectory();
  return { path, isFolder, names: isFolder ? listNames(path) : [], mode: stats.mode, owner: stats.uid };
}

/** Where nobody may look, `explainFolder` says so. */
function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * Takes the folder, or answers `null` when another process has it. Every server has one for itself, wherever
 * its data is: its socket and its key are there. The lock is the operating system's, so it dies with the
 * process, however that dies. Node has no file locks of its own; SQLite does, on every system, so an empty
 * database that is never written serves as the lock file.
 */
export function lockFolder(folder: string): FolderLock | null {
  // Whatever this process creates from here on is for its owner only.
  process.umask(0o077);
  try {
    const lock = takeLock(folder);
    const note = join(folder, HOLDER_FILE);
    writeNote(note);
    finishOrRelease(folder, lock);
    handOver(folder);
    return {
      release() {
        rmSync(note, { force: true });
        handOver(folder);
        lock.release();
      },
    };
  } catch (error) {
    if (isBusy(error)) return null;
    const message = explainFolder(folder) ?? (error as Error).message;
    throw new Fault('store_unavailable', message, { cause: error });
  }
}

/** A restore that was interrupted after its last check goes on before anybody looks at the data. */
function finishOrRelease(folder: string, lock: FolderLock): void {
  try {
    finishRestore(folder);
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** What this process may create in a data folder. SQLite itself gives what is beside a database its owner. */
const CREATED = [
  LOCK_FILE,
  HOLDER_FILE,
  'berth.db',
  'berth.db-wal',
  'berth.db-shm',
  'master.key',
  'master.key.next',
  'moved-to-postgres',
];
const ROOT = 0;

/**
 * What root creates in the folder of another user is that user's: the service could not start any more. Links
 * stay as they are, so that nobody gets a file from elsewhere by linking to it.
 */
export function handOver(folder: string, others: readonly string[] = []): void {
  if (process.getuid?.() !== ROOT) return;
  const stats = statSync(folder, { throwIfNoEntry: false });
  // Somebody may have removed it while it was in use.
  if (stats === undefined || stats.uid === ROOT) return;
  const { uid, gid } = stats;
  for (const name of [...CREATED, ...others]) {
    const file = join(folder, name);
    const facts = lstatSync(file, { throwIfNoEntry: false });
    if (facts?.isFile() && facts.nlink === 1 && facts.uid !== uid) giveTo(file, uid, gid);
  }
}

/** In containers and on network disks root may lack the right; it works with its own files all the same. */
function giveTo(file: string, uid: number, gid: number): void {
  try {
    lchownSync(file, uid, gid);
  } catch {}
}

/** Where it cannot be written, the lock is as good without it. */
function writeNote(file: string): void {
  try {
    writeFileSync(file, `${process.pid}\n`);
  } catch {}
}

/** The process that has a folder, in words. After a kill -9 the note may be of one that is no more. */
export function describeHolder(folder: string): string {
  const id = Number(readText(join(folder, HOLDER_FILE)) ?? 0);
  return isAlive(id) ? `another Berth process (process id ${id})` : 'another Berth process';
}

function isAlive(id: number): boolean {
  if (!Number.isSafeInteger(id) || id <= 0) return false;
  try {
    return process.kill(id, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function takeLock(folder: string): FolderLock {
  const db = new DatabaseSync(join(folder, LOCK_FILE), { timeout: 0 });
  try {
    db.exec('PRAGMA journal_mode = MEMORY');
    db.exec('BEGIN EXCLUSIVE');
    return { release: () => db.close() };
  } catch (error) {
    db.close();
    throw error;
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && ((error.errcode as number) & 0xff) === SQLITE_BUSY;
}

/** The same store, which gives the folder back when it is closed. */
export function holdFolder(store: Store, lock: FolderLock): Store {
  return {
    execute: (command) => store.execute(command),
    read: (query, signal) => store.read(query, signal),
    keepClock: () => store.keepClock(),
    isHealthy: () => store.isHealthy(),
    isLeader: () => store.isLeader(),
    async close() {
      await store.close();
      lock.release();
    },
  };
}
