import type { Instant } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import type { EndingRows } from '../../engine/row-sql.ts';
import type { KeyOf, RowOf } from '../../engine/tables.ts';
import type { DueRegistrations } from './due-registrations.ts';
import type { PendingRenewals } from './pending-renewals.ts';

type Row = RowOf<'registration'>;
type Key = KeyOf<'registration'>;

/** Renewed in place: nobody else keeps it. */
type KeptRow = Omit<Row, 'ends_at'> & { ends_at: Instant };

/** Rows in memory, at most: two generations of this many. Those of 100,000 users take 40 MB. */
const GENERATION = 262_144;

/** How many rows are read together. */
export const AHEAD = 256;

/** The rows of a license after this one, in the order of their key; at most `AHEAD`. */
type ListAfter = (key: Key) => readonly Row[];

interface Parts {
  readonly rows: EndingRows<'registration'>;
  readonly listAfter: ListAfter;
  /** Whether a row of the license is borrowed, or was. */
  readonly hasBorrows: (licenseId: LicenseId) => boolean;
  readonly pending: PendingRenewals;
  readonly due: DueRegistrations;
  readonly generation?: number | undefined;
}

/**
 * The registrations as the only writer of the file knows them: rows that were used lately stay in memory,
 * and renewals reach the rows in the file later (`PendingRenewals`). Other statements that write to the
 * table, and a command that is undone, empty the memory. After a failed commit the file is opened again, with
 * a new memory.
 */
export class KeptRegistrations implements EndingRows<'registration'> {
  readonly #rows: EndingRows<'registration'>;
  readonly #listAfter: ListAfter;
  readonly #hasBorrows: Parts['hasBorrows'];
  readonly #pending: PendingRenewals;
  readonly #generation: number;
  readonly due: DueRegistrations;
  /** By license and user. Both are the same until the first is full. */
  #young = new Map<LicenseId, Map<string, KeptRow>>();
  #old = this.#young;
  #youngCount = 0;
  /** Whether there is no room for more rows than those that are asked for. */
  #isFull = false;
  /** Up to which user all rows of a license are in memory; `null`: up to the last, so no others exist. */
  #readTo = new Map<LicenseId, string | null>();
  /** Licenses of which no row is borrowed; one that is missing was not looked at. */
  readonly #unborrowed = new Set<LicenseId>();
  /** Whether the running transaction has read more rows than it needed: a batch must not wait for many. */
  #hasReadOn = false;
  /** Grows with every row that may be written without a savepoint: so a command can tell whether it has. */
  writes = 0;

  constructor({ rows, listAfter, hasBorrows, pending, due, generation = GENERATION }: Parts) {
    this.#rows = rows;
    this.#listAfter = listAfter;
    this.#hasBorrows = hasBorrows;
    this.#pending = pending;
    this.due = due;
    this.#generation = generation;
  }

  find(key: Key): KeptRow | undefined {
    const { license_id: id, user } = key;
    const kept = this.#young.get(id)?.get(user);
    if (kept !== undefined) return kept;
    const older = this.#old.get(id)?.get(user);
    if (older === undefined && this.#readTo.get(id) === null && isExact(user)) return undefined;
    const row = older ?? this.#read(key);
    if (row !== undefined) this.#keep(row);
    if (older === undefined) this.#readOn(id);
    return row;
  }

  #read(key: Key): KeptRow | undefined {
    const row = this.#rows.find(key);
    return row && this.#renewed(row);
  }

  #renewed(row: Row): KeptRow {
    return copyRow(row, this.#pending.find(row.license_id, row.user) ?? row.ends_at);
  }

  /**
   * Reads more rows of a license, in the order of their key, while there is room: after a start, all users
   * return within minutes, and rows that are read together take a fraction of the time. Once all are in
   * memory, the file need not be asked for users who hold no slot.
   */
  #readOn(id: LicenseId): void {
    const from = this.#readTo.get(id);
    if (this.#isFull || this.#hasReadOn || from === null) return;
    this.#hasReadOn = true;
    const rows = this.#listAfter({ license_id: id, user: from ?? '' });
    const kept = this.#young.get(id);
    for (const row of rows) if (kept?.has(row.user) !== true) this.#keep(this.#renewed(row));
    this.#readTo.set(id, rows.length < AHEAD ? null : (rows.at(-1) as Row).user);
  }

  put(row: Row): void {
    this.#rows.put(row);
    this.#noteWrite(row);
  }

  add(row: Row): void {
    this.#rows.add(row);
    this.#noteWrite(row);
  }

  /** Counts rows of another table among the writes. */
  counting<R>(put: (row: R) => void): (row: R) => void {
    return (row) => {
      put(row);
      this.writes += 1;
    };
  }

  #noteWrite(row: Row): void {
    this.#correctLog(row, row.ends_at);
    this.due.noteWrite(row.license_id);
    if (row.borrowed_until !== null) this.#unborrowed.delete(row.license_id);
    this.writes += 1;
    this.#keep(copyRow(row));
  }

  /** A renewal in the log is void without its row. */
  remove(key: Key): void {
    const { license_id: id, user } = key;
    this.#rows.remove(key);
    this.due.noteWrite(id);
    this.writes += 1;
    if (!isExact(user)) {
      this.forget();
      return;
    }
    if (this.#young.get(id)?.delete(user)) this.#youngCount -= 1;
    this.#old.get(id)?.delete(user);
  }

  renew(key: Key, endsAt: Instant): void {
    const { license_id: licenseId, user } = key;
    const row = this.find(key);
    const canWait = row !== undefined && isExact(user) && Number.isSafeInteger(endsAt);
    if (!canWait) {
      this.#rows.renew(key, endsAt);
      this.#correctLog(key, endsAt);
      this.forget();
      this.writes += 1;
      return;
    }
    if (endsAt < row.ends_at) {
      this.put({ ...row, ends_at: endsAt });
      return;
    }
    this.due.noteRenewal(licenseId, row.ends_at, endsAt);
    // Not the text of the command, of which there would be another copy in memory.
    this.#pending.note(licenseId, row.user, endsAt);
    row.ends_at = endsAt;
    this.writes += 1;
  }

  /** The row was written: what the log says of its user must be no older. */
  #correctLog({ license_id: licenseId, user }: Key, endsAt: Instant): void {
    const stored = user.toWellFormed();
    if (this.#pending.find(licenseId, stored) !== undefined) this.#pending.note(licenseId, stored, endsAt);
  }

  list(group: Key): readonly Row[] {
    this.foldAll();
    return this.#rows.list(group);
  }

  listEnded(licenseId: LicenseId, now: Instant, limit: number): readonly Row[] {
    return this.due.listEnded(licenseId, now, limit);
  }

  countEnded(licenseId: LicenseId, now: Instant): number {
    return this.due.countEnded(licenseId, now);
  }

  /** Whether no slot of the license is borrowed. Otherwise they have to be counted. */
  isUnborrowed(licenseId: LicenseId): boolean {
    if (this.#unborrowed.has(licenseId)) return true;
    if (this.#hasBorrows(licenseId)) return false;
    this.#unborrowed.add(licenseId);
    return true;
  }

  findEnd(licenseId: LicenseId, after?: Instant): Instant | null {
    return after === undefined ? this.due.findFirst(licenseId) : this.due.findEnd(licenseId, after);
  }

  /** Renewals must be in the file before a savepoint. */
  writeRenewals(): void {
    this.#pending.write();
  }

  /** Before statements that read or write many ends. */
  foldAll(): void {
    this.#pending.foldAll();
  }

  /** Whether rows were brought up to date, which has to be committed though no command asked for it. */
  get isAhead(): boolean {
    return this.due.hasMoved || this.#pending.hasFolded;
  }

  /** Before the commit. */
  finish(): void {
    this.#hasReadOn = false;
    this.#pending.write();
    this.#pending.foldSome();
  }

  noteCommit(): void {
    this.due.hasMoved = false;
    this.#pending.hasFolded = false;
  }

  /** A command was undone, with what it had written since its savepoint: the file knows what is left. */
  rollBack(): void {
    this.#pending.reload();
    this.forget();
  }

  /** Rows may have changed in other ways. */
  forget(): void {
    this.#young = new Map();
    this.#old = this.#young;
    this.#youngCount = 0;
    this.#isFull = false;
    this.#readTo.clear();
    this.#unborrowed.clear();
    this.due.forget();
  }

  #keep(row: KeptRow): void {
    const { license_id: id, user } = row;
    if (!isExact(user)) {
      this.forget();
      return;
    }
    if (this.#youngCount >= this.#generation) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngCount = 0;
      this.#isFull = true;
      this.#readTo.clear();
    }
    const users = this.#young.getOrInsertComputed(id, () => new Map());
    const countBefore = users.size;
    users.set(user, row);
    this.#youngCount += users.size - countBefore;
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
    origin: row.origin,
    credential: row.credential,
    spelling: row.spelling,
  };
}

/** SQLite replaces half a surrogate pair, so that several names are the same to it. */
function isExact(user: unknown): boolean {
  return typeof user === 'string' && user.isWellFormed();
}
