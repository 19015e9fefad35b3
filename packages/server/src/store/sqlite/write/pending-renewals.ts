import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import { foldRenewals, LIST_RENEWALS } from '../wire/renewal-log.ts';

interface Renewal {
  readonly license_id: LicenseId;
  readonly user: string;
  readonly ends_at: Instant;
}

interface Group {
  readonly endsAt: Instant;
  readonly users: string[];
}

/** How many renewals a part of the log holds before it is folded. More share a page, and take more memory. */
const PART = 65_536;

/** How many users are folded for each renewal that is written: a part is folded before the next is full. */
const FOLDED_PER_RENEWAL = 2;

const SQL = {
  append: 'INSERT INTO renewal (license_id, ends_at, users) VALUES (?, ?, ?)',
  /** OR FAIL: it cannot fail, so SQLite need not copy each page to be able to undo the statement. */
  fold: 'UPDATE OR FAIL registration SET ends_at = ? WHERE license_id = ? AND "user" = ?',
  removeTo: 'DELETE FROM renewal WHERE seq <= ?',
};

/**
 * Renewals whose new end is not in the row yet. Rows of random users are all on different pages, and a page
 * is much to write for one end. So a renewal is appended to a log in the same transaction, and rows are
 * *folded* later, many at a time in the order of their key: the log is filled in parts, and while one is
 * filled, each batch folds a little of the one before. Memory always equals the log together with what was
 * gathered for it.
 *
 * An end in the log is never earlier than that in the row: whoever writes the row of a user who is in the log
 * must note its end here too, so that reading the log after a crash does not bring an older one back.
 */
export class PendingRenewals {
  readonly #db: DatabaseSync;
  readonly #part: number;
  readonly #append: StatementSync;
  readonly #fold: StatementSync;
  readonly #removeTo: StatementSync;
  /** The part that is being filled. */
  #young = new Ends();
  #youngRenewals = 0;
  /** The part before. */
  #old = new Ends();
  /** Of the part before: who is left to fold, the next one last. */
  #left: Pick<Renewal, 'license_id' | 'user'>[] = [];
  #oldLast: number | bigint = 0;
  #last: number | bigint = 0;
  /** Noted and not in the log yet. */
  #gathered = new Map<LicenseId, Group>();
  /** Renewals that the running transaction has written. */
  #written = 0;
  /** Whether the running transaction has folded everything, and must be committed. */
  hasFolded = false;

  constructor(db: DatabaseSync, part = PART) {
    this.#db = db;
    this.#part = part;
    this.#append = db.prepare(SQL.append);
    this.#fold = db.prepare(SQL.fold);
    this.#removeTo = db.prepare(SQL.removeTo);
  }

  /** The end of a row, if a renewal has moved it. */
  find(licenseId: LicenseId, user: string): Instant | undefined {
    return this.#young.find(licenseId, user) ?? this.#old.find(licenseId, user);
  }

  hasAny(licenseId: LicenseId): boolean {
    return this.#young.hasAny(licenseId) || this.#old.hasAny(licenseId);
  }

  note(licenseId: LicenseId, user: string, endsAt: Instant): void {
    this.#young.set(licenseId, user, endsAt);
    const group = this.#gathered.get(licenseId);
    if (group?.endsAt === endsAt) {
      group.users.push(user);
      return;
    }
    if (group !== undefined) this.#write(licenseId, group);
    this.#gathered.set(licenseId, { endsAt, users: [user] });
  }

  /** Appends what was noted to the log. */
  write(): void {
    if (this.#gathered.size === 0) return;
    for (const [licenseId, group] of this.#gathered) this.#write(licenseId, group);
    this.#gathered.clear();
  }

  #write(licenseId: LicenseId, { endsAt, users }: Group): void {
    this.#last = this.#append.run(licenseId, endsAt, JSON.stringify(users)).lastInsertRowid;
    this.#written += users.length;
    this.#youngRenewals += users.length;
  }

  /** Before a commit. Only together with renewals, so that the log is never empty: see `foldRenewals`. */
  foldSome(): void {
    if (this.#written === 0) return;
    if (this.#left.length > 0) this.#foldNext(FOLDED_PER_RENEWAL * this.#written);
    else if (this.#youngRenewals >= this.#part) this.#startPart();
    this.#written = 0;
  }

  #foldNext(count: number): void {
    for (const { license_id: id, user } of this.#left.splice(-count)) {
      this.#fold.run(this.find(id, user) as Instant, id, user);
    }
    if (this.#left.length > 0) return;
    this.#removeTo.run(this.#oldLast);
    this.#old = new Ends();
  }

  #startPart(): void {
    this.#old = this.#young;
    this.#oldLast = this.#last;
    this.#left = this.#old.listUsers();
    this.#young = new Ends();
    this.#youngRenewals = 0;
  }

  /** Before statements that read or write many ends. */
  foldAll(): void {
    this.write();
    if (this.#young.isEmpty() && this.#old.isEmpty()) return;
    foldRenewals(this.#db);
    this.#forget();
    this.hasFolded = true;
  }

  /** A command was undone: the log knows what is left. */
  reload(): void {
    this.#forget();
    const renewals = this.#db.prepare(`${LIST_RENEWALS} ORDER BY seq`).all() as unknown as Renewal[];
    for (const { license_id, user, ends_at } of renewals) this.#young.set(license_id, user, ends_at);
    this.#youngRenewals = renewals.length;
  }

  #forget(): void {
    this.#gathered.clear();
    this.#young = new Ends();
    this.#youngRenewals = 0;
    this.#old = new Ends();
    this.#left = [];
    this.#written = 0;
  }
}

/** By license and user. */
class Ends {
  readonly #ends = new Map<LicenseId, Map<string, Instant>>();

  find(licenseId: LicenseId, user: string): Instant | undefined {
    return this.#ends.get(licenseId)?.get(user);
  }

  hasAny(licenseId: LicenseId): boolean {
    return this.#ends.has(licenseId);
  }

  isEmpty(): boolean {
    return this.#ends.size === 0;
  }

  set(licenseId: LicenseId, user: string, endsAt: Instant): void {
    this.#ends.getOrInsertComputed(licenseId, () => new Map()).set(user, endsAt);
  }

  /** By license and user, the first one last. */
  listUsers(): Pick<Renewal, 'license_id' | 'user'>[] {
    const licenses = [...this.#ends].sort(([one], [other]) => other - one);
    return licenses.flatMap(([license_id, users]) => {
      const sorted = [...users.keys()].sort().reverse();
      return sorted.map((user) => ({ license_id, user }));
    });
  }
}
