import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import type { Savepoint } from '../../engine/batch.ts';
import { type EndingRows, NEVER } from '../../engine/row-sql.ts';
import { type Count, countOf } from '../../engine/sql.ts';
import type { KeyOf, RowOf, SqliteRowOf } from '../../engine/tables.ts';
import type { RenewalLog } from './renewal-log.ts';

type Row = RowOf<'registration'>;
type Key = KeyOf<'registration'>;

/** Renewed in place: nobody else keeps it. */
type KeptRow = Omit<Row, 'ends_at'> & { ends_at: Instant };

type DueRow = Pick<SqliteRowOf<'registration'>, 'user' | 'due_at' | 'ends_at'>;

/** Rows in memory, at most. Those of 100,000 users take 40 MB. */
const MAX_ROWS = 524_288;

/** OR FAIL: no row can fail, so SQLite need not copy each page to be able to undo the statement. */
const SQL = {
  savepoint: 'SAVEPOINT command',
  release: 'RELEASE command',
  rollBackTo: 'ROLLBACK TO command',
  listEnded: 'SELECT * FROM registration WHERE license_id = ? AND due_at <= ? ORDER BY due_at, user LIMIT ?',
  countEnded: 'SELECT count(*) AS count FROM registration WHERE license_id = ? AND due_at <= ?',
  findFirst: 'SELECT min(due_at) AS due_at FROM registration WHERE license_id = ?',
  listEnds: `SELECT "user", due_at, ends_at FROM registration WHERE license_id = ? AND due_at > ?
    ORDER BY due_at`,
  listDue: `SELECT "user", ends_at FROM registration
    WHERE license_id = ? AND due_at > ? AND due_at <= ? AND ends_at <= ?`,
  moveOn: `UPDATE OR FAIL registration SET due_at = ends_at
    WHERE license_id = ? AND due_at > ? AND due_at <= ? AND ends_at > due_at`,
  settle: 'UPDATE OR FAIL registration SET ends_at = ?1, due_at = ?1 WHERE license_id = ?2 AND "user" = ?3',
  findBorrow: 'SELECT 1 FROM registration WHERE license_id = ? AND borrowed_until IS NOT NULL LIMIT 1',
} as const;

interface Parts {
  readonly rows: EndingRows<'registration'>;
  readonly log: RenewalLog;
  /** Called when a command was undone. */
  readonly onUndo: () => void;
  readonly mostRows?: number | undefined;
}

/**
 * The registrations as the only writer of the file knows them. Rows that were used lately stay in memory, and
 * renewals reach the rows in the file later (`RenewalLog`). Ended rows are found by `due_at`. A renewal
 * leaves that as it is, so it may be earlier than the end, but never later: rows that are due and were
 * renewed are moved on before anything is answered.
 *
 * It is also the savepoint of the commands, because it alone knows whether a row was written without one. A
 * command that is undone empties the memory, as do other statements that write to the table. After a failed
 * commit the file is opened again, with a new book.
 */
export class SlotBook implements EndingRows<'registration'>, Savepoint {
  readonly #rows: EndingRows<'registration'>;
  readonly #log: RenewalLog;
  readonly #onUndo: () => void;
  readonly #mostRows: number;
  readonly #sql: Readonly<Record<keyof typeof SQL, StatementSync>>;
  /** By license and user. */
  readonly #kept = new Map<LicenseId, Map<string, KeptRow>>();
  #keptCount = 0;
  /** By license: rows that are due by then end when they are due. */
  readonly #exactTo = new Map<LicenseId, Instant>();
  /** By license: an end, and an instant after which no other comes before it. */
  readonly #nextEnds = new Map<LicenseId, { readonly after: Instant; readonly end: Instant }>();
  /** Licenses of which no row is borrowed; one that is missing was not looked at. */
  readonly #unborrowed = new Set<LicenseId>();
  /** Whether the running transaction has moved a row on. */
  #hasMoved = false;
  /** Of the running command. */
  #isSet = false;
  #hasWritten = false;

  constructor(db: DatabaseSync, { rows, log, onUndo, mostRows = MAX_ROWS }: Parts) {
    this.#rows = rows;
    this.#log = log;
    this.#onUndo = onUndo;
    this.#mostRows = mostRows;
    const prepared = Object.entries(SQL).map(([name, sql]) => [name, db.prepare(sql)]);
    this.#sql = Object.fromEntries(prepared);
  }

  find(key: Key): KeptRow | undefined {
    const kept = this.#kept.get(key.license_id)?.get(key.user);
    if (kept !== undefined) return kept;
    const row = this.#rows.find(key);
    if (row === undefined) return undefined;
    const found = copyRow(row, this.#log.find(row.license_id, row.user) ?? row.ends_at);
    this.#keep(found);
    return found;
  }

  put(row: Row): void {
    this.#rows.put(row);
    this.#noteRow(row);
  }

  add(row: Row): void {
    this.#rows.add(row);
    this.#noteRow(row);
  }

  #noteRow(row: Row): void {
    this.#correctLog(row, row.ends_at);
    this.#nextEnds.delete(row.license_id);
    if (row.borrowed_until !== null) this.#unborrowed.delete(row.license_id);
    this.#hasWritten = true;
    this.#keep(copyRow(row));
  }

  /** A renewal in the log is void without its row. */
  remove(key: Key): void {
    const { license_id: id, user } = key;
    this.#rows.remove(key);
    this.#nextEnds.delete(id);
    this.#hasWritten = true;
    if (!isExact(user)) this.forget();
    else if (this.#kept.get(id)?.delete(user)) this.#keptCount -= 1;
  }

  renew(key: Key, endsAt: Instant): void {
    const { license_id: id, user } = key;
    const row = this.find(key);
    if (row === undefined || !isExact(user) || !Number.isSafeInteger(endsAt)) {
      this.#rows.renew(key, endsAt);
      this.#correctLog(key, endsAt);
      this.forget();
    } else if (endsAt < row.ends_at) {
      this.put({ ...row, ends_at: endsAt });
    } else {
      this.#forgetEnd(id, row.ends_at, endsAt);
      // Not the text of the command, of which there would be another copy in memory.
      this.#log.note(id, row.user, endsAt);
      row.ends_at = endsAt;
    }
    this.#hasWritten = true;
  }

  /** The row was written: what the log says of its user must be no older. */
  #correctLog({ license_id: id, user }: Key, endsAt: Instant): void {
    const stored = user.toWellFormed();
    if (this.#log.find(id, stored) !== undefined) this.#log.note(id, stored, endsAt);
  }

  list(group: Key): readonly Row[] {
    this.fold();
    return this.#rows.list(group);
  }

  listEnded(id: LicenseId, now: Instant, limit: number): readonly Row[] {
    this.makeExact(id, now);
    return this.#sql.listEnded.all(id, now, limit) as unknown as Row[];
  }

  countEnded(id: LicenseId, now: Instant): number {
    this.makeExact(id, now);
    return countOf(this.#sql.countEnded.get(id, now) as unknown as Count);
  }

  findEnd(id: LicenseId, after?: Instant): Instant | null {
    if (after !== undefined) return this.#findNextEnd(id, after);
    return (this.#sql.findFirst.get(id) as Pick<DueRow, 'due_at'> | undefined)?.due_at ?? null;
  }

  #findNextEnd(id: LicenseId, after: Instant): Instant | null {
    const known = this.#nextEnds.get(id);
    if (known !== undefined && known.after <= after && after < known.end) return known.end;
    this.makeExact(id, after);
    let first: Instant | null = null;
    for (const row of this.#sql.listEnds.iterate(id, after)) {
      const { user, due_at, ends_at } = row as DueRow;
      if (first !== null && due_at >= first) break;
      const end = this.#log.find(id, user) ?? ends_at;
      if (first === null || end < first) first = end;
    }
    if (first === null) return null;
    this.makeExact(id, (first - 1) as Instant);
    this.#nextEnds.set(id, { after, end: first });
    return first;
  }

  /** Whether a row has ended since. Writes nothing. */
  hasEndedSince(id: LicenseId, since: Instant, now: Instant): boolean {
    for (const row of this.#sql.listDue.iterate(id, NEVER, now, now)) {
      const { user, ends_at } = row as DueRow;
      const end = this.#log.find(id, user) ?? ends_at;
      if (end > since && end <= now) return true;
    }
    return false;
  }

  /** Whether no slot of the license is borrowed. Otherwise they have to be counted. */
  isUnborrowed(id: LicenseId): boolean {
    if (this.#unborrowed.has(id)) return true;
    if (this.#sql.findBorrow.get(id) !== undefined) return false;
    this.#unborrowed.add(id);
    return true;
  }

  /** Moves rows on: those that are due by then end when they are due. */
  makeExact(id: LicenseId, to: Instant): void {
    const from = this.#exactTo.get(id) ?? NEVER;
    if (to <= from) return;
    if (this.#log.hasAny(id)) this.#settleDue(id, from, to);
    if (this.#sql.moveOn.run(id, from, to).changes !== 0) this.#hasMoved = true;
    this.#exactTo.set(id, to);
  }

  #settleDue(id: LicenseId, from: Instant, to: Instant): void {
    for (const row of this.#sql.listDue.all(id, from, to, Number.MAX_SAFE_INTEGER)) {
      const { user, ends_at } = row as DueRow;
      const end = this.#log.find(id, user);
      if (end === undefined || end <= ends_at) continue;
      this.#sql.settle.run(end, id, user);
      this.#hasMoved = true;
    }
  }

  /** A row with the first end gets the second one, which is no earlier. */
  #forgetEnd(id: LicenseId, endedAt: Instant, endsAt: Instant): void {
    if (endedAt <= (this.#exactTo.get(id) ?? NEVER)) this.#exactTo.delete(id);
    const next = this.#nextEnds.get(id)?.end;
    if (next !== undefined && (endedAt === next || endsAt < next)) this.#nextEnds.delete(id);
  }

  #keep(row: KeptRow): void {
    if (!isExact(row.user)) {
      this.forget();
      return;
    }
    if (this.#keptCount >= this.#mostRows) this.#forgetRows();
    const users = this.#kept.getOrInsertComputed(row.license_id, () => new Map());
    const countBefore = users.size;
    users.set(row.user, row);
    this.#keptCount += users.size - countBefore;
  }

  /** Rows may have changed in other ways. */
  forget(): void {
    this.#forgetRows();
    this.#unborrowed.clear();
    this.#exactTo.clear();
    this.#nextEnds.clear();
  }

  #forgetRows(): void {
    this.#kept.clear();
    this.#keptCount = 0;
  }

  /** Before statements that read or write many ends. */
  fold(): void {
    this.#log.fold();
  }

  /** Whether rows were brought up to date, which has to be committed though no command asked for it. */
  get isAhead(): boolean {
    return this.#hasMoved || this.#log.hasFolded;
  }

  beforeCommit(): void {
    if (this.#log.write()) this.#log.fold();
  }

  afterCommit(): void {
    this.#hasMoved = false;
    this.#log.hasFolded = false;
  }

  begin(): void {
    this.#isSet = false;
    this.#hasWritten = false;
  }

  /** Only for commands that ask for it: most write a single row, which fails or not as a whole. */
  set(): void {
    if (this.#isSet) return;
    this.#log.write();
    this.#sql.savepoint.run();
    this.#isSet = true;
  }

  release(): void {
    if (this.#isSet) this.#sql.release.run();
  }

  rollBack(): void {
    if (!this.#isSet) return;
    this.#sql.rollBackTo.run();
    this.#sql.release.run();
    this.#log.reload();
    this.forget();
    this.#onUndo();
  }

  /** A full or broken disk, and what was written without a savepoint, concerns the whole batch. */
  concernsAll(error: unknown): boolean {
    return concernsTheFile(error) || (this.#hasWritten && !this.#isSet);
  }

  /** Counts rows of another table among those that may be written without a savepoint. */
  counting<R>(put: (row: R) => void): (row: R) => void {
    return (row) => {
      put(row);
      this.#hasWritten = true;
    };
  }
}

/** All of one shape: rows as SQLite returns them are larger, and slower to read. */
function copyRow(row: Row, endsAt = row.ends_at): KeptRow {
  return {
    license_id: row.license_id,
    user: row.user,
    hostname: row.hostname,
    address: row.address,
    info: row.info,
    registered_at: row.registered_at,
    ends_at: endsAt,
    borrowed_until: row.borrowed_until,
    programs: row.programs,
    origin: row.origin,
    counted_at: row.counted_at,
    credential: row.credential,
    spelling: row.spelling,
  };
}

/** SQLite replaces half a surrogate pair, so that several names are the same to it. */
function isExact(user: unknown): boolean {
  return typeof user === 'string' && user.isWellFormed();
}

const SQLITE_CONSTRAINT = 19;

/** A violated constraint or a bug concerns only its command. */
function concernsTheFile(error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error)) return false;
  return ((error.errcode as number) & 0xff) !== SQLITE_CONSTRAINT;
}
