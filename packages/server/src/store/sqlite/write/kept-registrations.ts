import type { Instant } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import type { EndingRows } from '../../engine/row-sql.ts';
import type { KeyOf, RowOf } from '../../engine/tables.ts';
import type { DueRegistrations } from './due-registrations.ts';

type Row = RowOf<'registration'>;
type Key = KeyOf<'registration'>;

/** Renewed in place: nobody else keeps it. */
type KeptRow = Omit<Row, 'ends_at'> & { ends_at: Instant };

/** Renews the slots of several users of one license at once; each statement is for so many users. */
export interface RenewMany {
  readonly users: number;
  run(endsAt: Instant, licenseId: LicenseId, users: readonly string[]): void;
}

/** Rows in memory, at most: two generations of this many, 40 MB where 100,000 users hold a slot. */
const GENERATION = 65_536;

/**
 * The registrations as the only writer of the file knows them: rows that were used lately stay in memory, and
 * renewals are gathered, because those of one batch mostly set the same end. They are written before anything
 * else touches the table, and before the commit. Other statements that write to the table, and a command that
 * is undone, empty the memory. After a failed commit the file is opened again, with a new memory.
 */
export class KeptRegistrations implements EndingRows<'registration'> {
  readonly #rows: EndingRows<'registration'>;
  /** The largest first. */
  readonly #renewMany: readonly RenewMany[];
  readonly due: DueRegistrations;
  /** By license and user; `null`: there is no such row. */
  #young = new Map<LicenseId, Map<string, KeptRow | null>>();
  #old = this.#young;
  #youngCount = 0;
  #renewed: { readonly licenseId: LicenseId; readonly endsAt: Instant; readonly users: string[] } | null =
    null;
  /** Grows with every row that was written here, so that a command can tell whether it has written one. */
  writes = 0;

  constructor(rows: EndingRows<'registration'>, renewMany: readonly RenewMany[], due: DueRegistrations) {
    this.#rows = rows;
    this.#renewMany = renewMany;
    this.due = due;
  }

  find(key: Key): KeptRow | undefined {
    const { license_id: id, user } = key;
    const kept = this.#young.get(id)?.get(user);
    if (kept !== undefined) return kept ?? undefined;
    const older = this.#old.get(id)?.get(user);
    const row = older === undefined ? this.#read(key) : older;
    this.#keep(key, row);
    return row ?? undefined;
  }

  /** A renewal that is not written yet is of a row that is in memory, unless that is forgotten. */
  #read(key: Key): KeptRow | null {
    this.writeRenewals();
    const row = this.#rows.find(key);
    return row === undefined ? null : copyRow(row);
  }

  put(row: Row): void {
    this.writeRenewals();
    this.#rows.put(row);
    this.#note(row, copyRow(row));
  }

  add(row: Row): void {
    this.writeRenewals();
    this.#rows.add(row);
    this.#note(row, copyRow(row));
  }

  remove(key: Key): void {
    this.writeRenewals();
    this.#rows.remove(key);
    this.#note(key, null);
  }

  renew(key: Key, endsAt: Instant): void {
    const { license_id: licenseId, user } = key;
    const row = this.find(key);
    const canWait = row !== undefined && isExact(user) && Number.isSafeInteger(endsAt);
    if (!canWait) {
      this.writeRenewals();
      this.#rows.renew(key, endsAt);
      this.forget();
      this.writes += 1;
      return;
    }
    if (endsAt < row.ends_at) {
      this.put({ ...row, ends_at: endsAt });
      return;
    }
    this.due.noteRenewal(licenseId, row.ends_at);
    if (this.#renewed?.licenseId !== licenseId || this.#renewed.endsAt !== endsAt) {
      this.writeRenewals();
      this.#renewed = { licenseId, endsAt, users: [] };
    }
    this.#renewed.users.push(user);
    row.ends_at = endsAt;
    this.writes += 1;
  }

  list(group: Key): readonly Row[] {
    this.writeRenewals();
    return this.#rows.list(group);
  }

  listEnded(licenseId: LicenseId, now: Instant, limit: number): readonly Row[] {
    this.writeRenewals();
    return this.due.listEnded(licenseId, now, limit);
  }

  countEnded(licenseId: LicenseId, now: Instant): number {
    this.writeRenewals();
    return this.due.countEnded(licenseId, now);
  }

  findEnd(licenseId: LicenseId, after?: Instant): Instant | null {
    if (after === undefined) return this.due.findFirst(licenseId);
    this.writeRenewals();
    return this.due.findEnd(licenseId, after);
  }

  writeRenewals(): void {
    const renewed = this.#renewed;
    if (renewed === null) return;
    this.#renewed = null;
    const { licenseId, endsAt, users } = renewed;
    let written = 0;
    for (const { users: count, run } of this.#renewMany) {
      for (; users.length - written >= count; written += count) {
        run(endsAt, licenseId, users.slice(written, written + count));
      }
    }
  }

  /** A command is undone, with what it has written since its savepoint: the file knows what is left. */
  rollBack(): void {
    this.#renewed = null;
    this.forget();
  }

  /** Rows may have changed in other ways. */
  forget(): void {
    this.#young = new Map();
    this.#old = this.#young;
    this.#youngCount = 0;
    this.due.forget();
  }

  #note(key: Key, row: KeptRow | null): void {
    this.writes += 1;
    this.#keep(key, row);
  }

  #keep({ license_id: id, user }: Key, row: KeptRow | null): void {
    if (!isExact(user)) {
      this.forget();
      return;
    }
    if (this.#youngCount >= GENERATION) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngCount = 0;
    }
    const users = this.#young.getOrInsertComputed(id, () => new Map());
    const countBefore = users.size;
    users.set(user, row);
    this.#youngCount += users.size - countBefore;
  }
}

/** All of one shape: rows as SQLite returns them are larger, and slower to read. */
function copyRow(row: Row): KeptRow {
  return {
    license_id: row.license_id,
    user: row.user,
    hostname: row.hostname,
    address: row.address,
    info: row.info,
    registered_at: row.registered_at,
    ends_at: row.ends_at,
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
