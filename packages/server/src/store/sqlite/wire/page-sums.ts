import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { removeDurably, writeNewFile } from '@berth/shell/files/durable-file';
import { Fault } from '../../../core/nouns/fault.ts';
import type { StoreNotice } from '../../../core/nouns/store-notice.ts';
import { damageFault } from './damage.ts';
import { checkpoint, openReadOnly, openWritable } from './database.ts';
import { requireKnownFile } from './migrate.ts';
import { findRow } from './read-rows.ts';
import { readLog, readPages } from './write-ahead-log.ts';

/** How long the log grows before it is moved into the database, in pages. One written often is moved once. */
const LOG_PAGES = 4000;

const CHUNK_BYTES = 1024 * 1024;
const WORD_BYTES = 4;

interface Sums {
  /** By page. SQLite does not write pages that it does not need: they have none, which is 0. */
  readonly sums: Uint32Array;
  /** Pages that were once found changed. What is in them now is of no use, even if it was written since. */
  readonly changed: readonly number[];
}

const NOTHING: Sums = { sums: new Uint32Array(0), changed: [] };

interface Checkpointed {
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * The checksum of every page of the database, in a file beside it. SQLite's own pages have none, so a bit
 * that changes on the disk would be a fact like any other. Pages of the log have one, and a commit only
 * writes there. So it is enough to keep these in step with the moves of the log into the database. They are
 * written after each move and before the log is used again: pages of which it is not known whether they were
 * moved are always in the log.
 *
 * The database itself is only read before it is opened. A process that closes any handle of a file loses all
 * its locks on it, those of SQLite included, and then another process may remove the log that is in use.
 */
export class PageSums {
  readonly #file: string;
  /** `null`: not known. Then the next start makes them from the file. */
  #known: Sums | null = null;
  /** Pages that were not as they were written at the start, and their description; `null`: none. */
  #changed: readonly number[] = [];
  #found: string | null = null;
  /** So many pages of the log are in the database, and their sums are written. */
  #summed = 0;
  /** Whether the file beside the database has them. */
  #isStored = true;
  #look: StatementSync | null = null;

  constructor(file: string) {
    this.#file = file;
  }

  /** Opens the file to write. At a start, it is compared with its sums first. */
  open(isStart: boolean): { readonly db: DatabaseSync; readonly notices: readonly StoreNotice[] } {
    if (isStart) this.#requireKnown();
    const notices = isStart ? this.#compare() : [];
    return { db: openWritable(this.#file, this), notices };
  }

  /**
   * Another program's file, or a newer Berth's, is left alone, with those beside it. A log that a crash has
   * left may say more: `openWritable` looks again.
   */
  #requireKnown(): void {
    try {
      requireKnownHeader(this.#file);
    } catch (error) {
      if (isHeaderChanged(this.#file)) this.#found = 'page 1';
      throw error;
    }
  }

  #compare(): readonly StoreNotice[] {
    const stored = readSums(this.#file);
    const { pages, damage } = readLog(this.#file);
    const notices: StoreNotice[] = stored === 'damaged' ? [{ kind: 'sums_damaged' }] : [];
    if (damage !== null) notices.push({ kind: 'log_damaged', isLost: damage === 'lost' });
    const before = stored === null || stored === 'damaged' ? NOTHING : stored;
    const isKnown = before.sums.length > 0;
    if (!isKnown) useLog(this.#file);
    const actual = sumFile(this.#file);
    this.#changed = findChanged(actual, before, pages);
    this.#known = { sums: isKnown ? before.sums : actual, changed: this.#changed };
    if (!isKnown) this.#forgetStored();
    else if (this.#changed.length > before.changed.length) this.#write(this.#known);
    if (this.#changed.length === 0) return notices;
    this.#found = describePages(this.#file, this.#changed);
    return [...notices, { kind: 'pages_changed', pages: this.#found }];
  }

  /** What is in a page that has changed may be anything, and fail in any way. */
  explain(error: unknown): unknown {
    if (this.#found === null || error instanceof Fault) return error;
    const detail = `${this.#found}: not as the server wrote it, and now ${(error as Error).message}`;
    return damageFault(this.#file, detail, error);
  }

  /** After the file was opened: moves all of the log, and ends it. */
  settle(db: DatabaseSync): void {
    this.#look = null;
    if (!this.#move(db, 'FULL')) this.#forget();
    checkpoint(db);
    if (this.#known !== null && !this.#isStored) this.#write(this.#known);
  }

  /** Now and then: moves the log if it has become long. */
  keepUp(db: DatabaseSync): void {
    this.#look ??= db.prepare('PRAGMA wal_checkpoint(NOOP)');
    const { log, checkpointed } = this.#look.get() as unknown as Checkpointed;
    if (log < LOG_PAGES || (log === checkpointed && log === this.#summed)) return;
    try {
      this.#move(db, 'PASSIVE');
    } catch {
      // It may have been moved before that failed.
      this.#forget();
    }
  }

  /** SQLite moves the log when the last connection is closed. */
  close(db: DatabaseSync): void {
    try {
      if (!this.#move(db, 'PASSIVE')) this.#forget();
    } catch {
      this.#forget();
    }
    db.close();
  }

  /** After a failure: if SQLite moves the log all the same, it is not known which pages that has changed. */
  closeBroken(db: DatabaseSync): void {
    const log = `${this.#file}-wal`;
    const hadLog = (statSync(log, { throwIfNoEntry: false })?.size ?? 0) > 0;
    db.close();
    if (hadLog && !existsSync(log)) this.#forget();
  }

  /** Returns whether all of the log is in the database now: a reader may still need the older state. */
  #move(db: DatabaseSync, mode: 'PASSIVE' | 'FULL'): boolean {
    const moved = findRow<Checkpointed>(db, `PRAGMA wal_checkpoint(${mode})`);
    // Both are -1 if somebody else is at it.
    if (moved === undefined || moved.log < 0 || moved.log !== moved.checkpointed) return false;
    if (this.#known !== null && moved.log > 0) this.#write(addUp(this.#file, this.#known, moved.log));
    this.#summed = moved.log;
    return true;
  }

  /** If this fails, those that are there are wrong. Without any, the next start makes them. */
  #write(known: Sums): void {
    this.#known = known;
    this.#isStored = true;
    try {
      writeNewFile(sumsFile(this.#file), pack(known));
    } catch {
      removeSums(this.#file);
    }
  }

  #forget(): void {
    this.#known = null;
    this.#forgetStored();
  }

  /** What was found to have changed stays known. */
  #forgetStored(): void {
    this.#isStored = false;
    removeSums(this.#file);
    if (this.#changed.length === 0) return;
    try {
      writeNewFile(sumsFile(this.#file), pack({ ...NOTHING, changed: this.#changed }));
    } catch {
      removeSums(this.#file);
    }
  }
}

function sumsFile(file: string): string {
  return `${file}-sums`;
}

/** For a file that has replaced another one. */
export function removeSums(file: string): void {
  try {
    if (existsSync(sumsFile(file))) removeDurably(sumsFile(file));
  } catch {
    rmSync(sumsFile(file), { force: true });
  }
}

/** The pages that were not as they were written when the database was opened; `null`: none. */
export function findChangedPages(file: string): string | null {
  const known = readSums(file);
  if (known === null || known === 'damaged' || known.changed.length === 0) return null;
  return describePages(file, known.changed);
}

function describePages(file: string, pages: readonly number[]): string {
  const [first = 0] = pages;
  const table = findTable(file, first);
  const others = pages.length === 1 ? '' : ` and ${pages.length - 1} more`;
  return `page ${first}${table === null ? '' : ` of the table ${table}`}${others}`;
}

/** `null`: it is free, or the file is too damaged to tell. */
function findTable(file: string, page: number): string | null {
  try {
    const db = openReadOnly(file);
    try {
      const sql = 'SELECT tbl_name FROM dbstat JOIN sqlite_schema USING (name) WHERE pageno = :page';
      return findRow<{ readonly tbl_name: string }>(db, sql, { page })?.tbl_name ?? null;
    } finally {
      db.close();
    }
  } catch {
    return null;
  }
}

/** "SUMS". */
const MAGIC = 0x534d5553;
const VERSION = 1;
const SUMMED_FROM = 2;
const HEAD_WORDS = 4;

/**
 * A mark, and a checksum of the rest, both as in every version; the version, how many pages have changed,
 * these pages, and the sums of all.
 */
function pack({ sums, changed }: Sums): Uint8Array {
  const words = new Uint32Array(HEAD_WORDS + changed.length + sums.length);
  words.set([MAGIC, 0, VERSION, changed.length, ...changed]);
  words.set(sums, HEAD_WORDS + changed.length);
  words[1] = crc32(new Uint8Array(words.buffer, SUMMED_FROM * WORD_BYTES));
  return new Uint8Array(words.buffer);
}

/** `null`: there are none, no database that they could belong to, or those of another version of Berth. */
function readSums(file: string): Sums | 'damaged' | null {
  if (!existsSync(sumsFile(file)) || (statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0)
    return null;
  const bytes = Uint8Array.from(readFileSync(sumsFile(file)));
  if (bytes.length < HEAD_WORDS * WORD_BYTES || bytes.length % WORD_BYTES !== 0) return 'damaged';
  const words = new Uint32Array(bytes.buffer);
  const [magic, sum, version, changed = 0] = words;
  if (magic !== MAGIC || crc32(bytes.subarray(SUMMED_FROM * WORD_BYTES)) !== sum) return 'damaged';
  if (version !== VERSION) return null;
  const end = HEAD_WORDS + changed;
  return { changed: [...words.subarray(HEAD_WORDS, end)], sums: words.subarray(end) };
}

/** The sums after so many frames of the log were moved. */
function addUp(file: string, { sums: before, changed }: Sums, log: number): Sums {
  const moved = new Map<number, number>();
  let last = before.length;
  for (const [page, content] of readPages(file, log)) {
    moved.set(page, crc32(content));
    last = Math.max(last, page);
  }
  const sums = new Uint32Array(last);
  sums.set(before);
  for (const [page, sum] of moved) sums[page - 1] = sum;
  return { sums, changed };
}

/** Pages that have another sum and no newer version in the log. */
function findChanged(actual: Uint32Array, known: Sums, inLog: ReadonlySet<number>): readonly number[] {
  const changed = new Set(known.changed);
  for (const [index, sum] of known.sums.entries()) {
    if (sum !== 0 && actual[index] !== sum && !inLog.has(index + 1)) changed.add(index + 1);
  }
  return [...changed].sort((a, b) => a - b);
}

/** As in "The SQLite database file format", chapter 1.3. */
const HEADER_BYTES = 100;
const SCHEMA_COOKIE_AT = 40;
const USER_VERSION_AT = 60;
const APPLICATION_ID_AT = 68;
const SQLITE = 'SQLite format 3\0';

/** Only while nothing in this process has the file open: see `PageSums`. */
function readHeader(file: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  if (!existsSync(file)) return header;
  const handle = openSync(file, 'r');
  try {
    readSync(handle, header, 0, HEADER_BYTES, 0);
    return header;
  } finally {
    closeSync(handle);
  }
}

/** SQLite itself explains what is not a database. */
function requireKnownHeader(file: string): void {
  const header = readHeader(file);
  if (header.toString('latin1', 0, SQLITE.length) !== SQLITE) return;
  requireKnownFile({
    applicationId: header.readInt32BE(APPLICATION_ID_AT),
    version: header.readInt32BE(USER_VERSION_AT),
    isEmpty: () => header.readUInt32BE(SCHEMA_COOKIE_AT) === 0,
  });
}

/** Then what it says was not written by anybody. */
function isHeaderChanged(file: string): boolean {
  const known = readSums(file);
  if (known === null || known === 'damaged') return false;
  return findChanged(sumFile(file), known, readLog(file).pages).includes(1);
}

/** A restored file has never had a log. From the first on, its first page says so, which no log contains. */
function useLog(file: string): void {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0 || saysLog(file)) return;
  const db = new DatabaseSync(file);
  try {
    db.exec('PRAGMA journal_mode = WAL');
  } catch {
    // Whoever opens it to write explains what is wrong.
  } finally {
    db.close();
  }
}

const READ_VERSION_AT = 19;
const READ_WITH_LOG = 2;

function saysLog(file: string): boolean {
  return readHeader(file)[READ_VERSION_AT] === READ_WITH_LOG;
}

const PAGE_SIZE_AT = 16;

/** A header that has changed may say anything. */
function readPageSize(handle: number): number {
  const bytes = Buffer.alloc(2);
  readSync(handle, bytes, 0, bytes.length, PAGE_SIZE_AT);
  const said = bytes.readUInt16BE();
  return said === 1 ? 65_536 : Math.max(said, 512);
}

/** Only while nothing in this process has the file open: see `PageSums`. */
function sumFile(file: string): Uint32Array {
  if (!existsSync(file)) return new Uint32Array(0);
  const handle = openSync(file, 'r');
  try {
    const size = readPageSize(handle);
    const sums = new Uint32Array(Math.floor(fstatSync(handle).size / size));
    const chunk = Buffer.allocUnsafe(
      size * Math.max(1, Math.min(sums.length, Math.floor(CHUNK_BYTES / size))),
    );
    for (let page = 0; page < sums.length; ) {
      const read = readSync(handle, chunk, 0, chunk.length, page * size);
      for (let at = 0; at + size <= read && page < sums.length; at += size) {
        sums[page] = crc32(chunk.subarray(at, at + size));
        page += 1;
      }
      if (read < size) break;
    }
    return sums;
  } finally {
    closeSync(handle);
  }
}
