import type { Instant } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import type { EndingRows } from '../../engine/row-sql.ts';
import type { KeyOf, RowOf } from '../../engine/tables.ts';

type Row = RowOf<'registration'>;
type Key = KeyOf<'registration'>;

/** Renews the slots of several users of one license at once; each statement is for so many users. */
export interface RenewMany {
  readonly users: number;
  run(endsAt: Instant, licenseId: LicenseId, users: readonly string[]): void;
}

/** Rows in memory, at most: two generations of this many, some ten megabytes. */
const GENERATION = 16_384;

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
  /** By license and user; `null`: there is no such row. */
  #young = new Map<LicenseId, Map<string, Row | null>>();
  #old = this.#young;
  #youngCount = 0;
  #renewed: { readonly licenseId: LicenseId; readonly endsAt: Instant; readonly users: string[] } | null =
    null;
  /** Grows with every row that was written here, so that a command can tell whether it has written one. */
  writes = 0;

  constructor(rows: EndingRows<'registration'>, renewMany: readonly RenewMany[]) {
    this.#rows = rows;
    this.#renewMany = renewMany;
  }

  find(key: Key): Row | undefined {
    const { license_id: id, user } = key;
    const kept = this.#young.get(id)?.get(user);
    if (kept !== undefined) return kept ?? undefined;
    const older = this.#old.get(id)?.get(user);
    const row = older === undefined ? this.#read(key) : older;
    this.#keep(key, row);
    return row ?? undefined;
  }

  /** A renewal that is not written yet is of a row that is in memory, unless that is forgotten. */
  #read(key: Key): Row | null {
    this.writeRenewals();
    return this.#rows.find(key) ?? null;
  }

  put(row: Row): void {
    this.writeRenewals();
    this.#rows.put(row);
    this.#note(row, row);
  }

  add(row: Row): void {
    this.writeRenewals();
    this.#rows.add(row);
    this.#note(row, row);
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
    if (this.#renewed?.licenseId !== licenseId || this.#renewed.endsAt !== endsAt) {
      this.writeRenewals();
      this.#renewed = { licenseId, endsAt, users: [] };
    }
    this.#renewed.users.push(user);
    this.#note(key, { ...row, ends_at: endsAt });
  }

  list(group: Key): readonly Row[] {
    this.writeRenewals();
    return this.#rows.list(group);
  }

  listEnded(licenseId: LicenseId, now: Instant, limit: number): readonly Row[] {
    this.writeRenewals();
    return this.#rows.listEnded(licenseId, now, limit);
  }

  findEnd(licenseId: LicenseId, after?: Instant): Instant | null {
    this.writeRenewals();
    return this.#rows.findEnd(licenseId, after);
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
    for (const user of users.slice(written)) this.#rows.renew({ license_id: licenseId, user }, endsAt);
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
  }

  #note(key: Key, row: Row | null): void {
    this.writes += 1;
    this.#keep(key, row);
  }

  #keep({ license_id: id, user }: Key, row: Row | null): void {
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

/** SQLite replaces half a surrogate pair, so that several names are the same to it. */
function isExact(user: unknown): boolean {
  return typeof user === 'string' && user.isWellFormed();
}
