import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import { clearRenewals, LIST_RENEWALS } from '../wire/fold-renewals.ts';

interface Renewal {
  readonly license_id: LicenseId;
  readonly user: string;
  readonly ends_at: Instant;
}

interface Group {
  readonly endsAt: Instant;
  readonly users: string[];
}

/** How many renewals are folded together: more of them share a page, and keep a batch waiting for longer. */
const FULL = 32_768;

const SQL = {
  append: 'INSERT INTO renewal (license_id, ends_at, users) VALUES (?, ?, ?)',
  /** OR FAIL: it cannot fail, so SQLite need not copy each page to be able to undo the statement. */
  fold: 'UPDATE OR FAIL registration SET ends_at = ? WHERE license_id = ? AND "user" = ?',
};

/**
 * Renewals whose new end is not in the row yet. Rows of random users are all on different pages, and a page
 * is much to write for one end. So a renewal is appended to a log in the same transaction, and rows are
 * *folded* when the log is full, in the order of their key. Memory always equals the log together with what
 * was gathered for it.
 *
 * An end in the log is never earlier than that in the row: whoever writes the row of a user who is in the log
 * must note its end here too, so that reading the log after a crash does not bring an older one back.
 */
export class RenewalLog {
  readonly #db: DatabaseSync;
  readonly #full: number;
  readonly #append: StatementSync;
  readonly #fold: StatementSync;
  #ends = new Map<LicenseId, Map<string, Instant>>();
  /** Renewals in the log. */
  #written = 0;
  /** Noted and not in the log yet. */
  #gathered = new Map<LicenseId, Group>();
  /** Whether the running transaction has folded, and must be committed. */
  hasFolded = false;

  constructor(db: DatabaseSync, full = FULL) {
    this.#db = db;
    this.#full = full;
    this.#append = db.prepare(SQL.append);
    this.#fold = db.prepare(SQL.fold);
  }

  /** The end of a row, if a renewal has moved it. */
  find(licenseId: LicenseId, user: string): Instant | undefined {
    return this.#ends.get(licenseId)?.get(user);
  }

  hasAny(licenseId: LicenseId): boolean {
    return this.#ends.has(licenseId);
  }

  note(licenseId: LicenseId, user: string, endsAt: Instant): void {
    this.#set(licenseId, user, endsAt);
    const group = this.#gathered.get(licenseId);
    if (group?.endsAt === endsAt) {
      group.users.push(user);
      return;
    }
    if (group !== undefined) this.#write(licenseId, group);
    this.#gathered.set(licenseId, { endsAt, users: [user] });
  }

  /** Appends what was noted to the log. Returns whether it is full: then it should be folded. */
  write(): boolean {
    if (this.#gathered.size === 0) return false;
    for (const [licenseId, group] of this.#gathered) this.#write(licenseId, group);
    this.#gathered.clear();
    return this.#written >= this.#full;
  }

  #write(licenseId: LicenseId, { endsAt, users }: Group): void {
    this.#append.run(licenseId, endsAt, JSON.stringify(users));
    this.#written += users.length;
  }

  /** Before statements that read or write many ends. */
  fold(): void {
    this.write();
    if (this.#ends.size === 0) return;
    for (const [licenseId, ends] of this.#ends) {
      // In the order of their key, so that each page is written once.
      for (const user of [...ends.keys()].sort()) this.#fold.run(ends.get(user) as Instant, licenseId, user);
    }
    clearRenewals(this.#db);
    this.#forget();
    this.hasFolded = true;
  }

  /** A command was undone: the log knows what is left. */
  reload(): void {
    this.#forget();
    const renewals = this.#db.prepare(`${LIST_RENEWALS} ORDER BY seq`).all() as unknown as Renewal[];
    for (const { license_id, user, ends_at } of renewals) this.#set(license_id, user, ends_at);
    this.#written = renewals.length;
  }

  #set(licenseId: LicenseId, user: string, endsAt: Instant): void {
    this.#ends.getOrInsertComputed(licenseId, () => new Map()).set(user, endsAt);
  }

  #forget(): void {
    this.#gathered.clear();
    this.#ends = new Map();
    this.#written = 0;
  }
}
