import type { DatabaseSync } from 'node:sqlite';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import { NEVER } from '../../engine/row-sql.ts';
import { type Count, countOf } from '../../engine/sql.ts';
import type { SqliteRowOf } from '../../engine/tables.ts';

type Row = SqliteRowOf<'registration'>;

/** OR FAIL: no row can fail, so SQLite need not copy each page to be able to undo the statement. */
const SQL = {
  moveOn: `UPDATE OR FAIL registration SET due_at = ends_at
    WHERE license_id = ? AND due_at > ? AND due_at <= ? AND ends_at > due_at`,
  list: 'SELECT * FROM registration WHERE license_id = ? AND due_at <= ? ORDER BY due_at, user LIMIT ?',
  count: 'SELECT count(*) AS count FROM registration WHERE license_id = ? AND due_at <= ?',
  findFirst: 'SELECT min(due_at) AS due_at FROM registration WHERE license_id = ?',
  listEnds: `SELECT due_at, ends_at FROM registration WHERE license_id = ? AND due_at > ?
    ORDER BY due_at`,
};

/**
 * Finds ended registrations by `due_at`. A renewal leaves that as it is, so it may be earlier than the end,
 * but never later. Rows that are due and were renewed are moved on to their end before anything is answered,
 * at most once for each renewal.
 */
export class DueRegistrations {
  readonly #moveOn;
  readonly #list;
  readonly #count;
  readonly #findFirst;
  readonly #listEnds;
  /** By license: rows that are due by then end when they are due. */
  readonly #exactTo = new Map<LicenseId, Instant>();
  /** Whether the running transaction has moved any row. If it is not committed, `forget` must be called. */
  hasMoved = false;

  constructor(db: DatabaseSync) {
    this.#moveOn = db.prepare(SQL.moveOn);
    this.#list = db.prepare(SQL.list);
    this.#count = db.prepare(SQL.count);
    this.#findFirst = db.prepare(SQL.findFirst);
    this.#listEnds = db.prepare(SQL.listEnds);
  }

  listEnded(licenseId: LicenseId, now: Instant, limit: number): readonly Row[] {
    this.#makeExact(licenseId, now);
    return this.#list.all(licenseId, now, limit) as unknown as Row[];
  }

  countEnded(licenseId: LicenseId, now: Instant): number {
    this.#makeExact(licenseId, now);
    return countOf(this.#count.get(licenseId, now) as unknown as Count);
  }

  /** No row ends before this. */
  findFirst(licenseId: LicenseId): Instant | null {
    return (this.#findFirst.get(licenseId) as Pick<Row, 'due_at'> | undefined)?.due_at ?? null;
  }

  /** The next end after `after`. */
  findEnd(licenseId: LicenseId, after: Instant): Instant | null {
    this.#makeExact(licenseId, after);
    let first: Instant | null = null;
    for (const row of this.#listEnds.iterate(licenseId, after)) {
      const { due_at, ends_at } = row as Pick<Row, 'due_at' | 'ends_at'>;
      if (first !== null && due_at >= first) break;
      if (first === null || ends_at < first) first = ends_at;
    }
    if (first !== null) this.#makeExact(licenseId, (first - 1) as Instant);
    return first;
  }

  /** A row with this end is renewed. */
  noteRenewal(licenseId: LicenseId, endedAt: Instant): void {
    if (endedAt <= (this.#exactTo.get(licenseId) ?? NEVER)) this.#exactTo.delete(licenseId);
  }

  /** Rows may have changed in other ways. */
  forget(): void {
    this.#exactTo.clear();
  }

  #makeExact(licenseId: LicenseId, to: Instant): void {
    const from = this.#exactTo.get(licenseId) ?? NEVER;
    if (to <= from) return;
    if (this.#moveOn.run(licenseId, from, to).changes !== 0) this.hasMoved = true;
    this.#exactTo.set(licenseId, to);
  }
}
