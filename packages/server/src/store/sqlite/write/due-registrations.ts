import type { DatabaseSync } from 'node:sqlite';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import { NEVER } from '../../engine/row-sql.ts';
import { type Count, countOf } from '../../engine/sql.ts';
import type { SqliteRowOf } from '../../engine/tables.ts';
import type { PendingRenewals } from './pending-renewals.ts';

type Row = SqliteRowOf<'registration'>;

type DueRow = Pick<Row, 'user' | 'due_at' | 'ends_at'>;

/** OR FAIL: no row can fail, so SQLite need not copy each page to be able to undo the statement. */
const SQL = {
  moveOn: `UPDATE OR FAIL registration SET due_at = ends_at
    WHERE license_id = ? AND due_at > ? AND due_at <= ? AND ends_at > due_at`,
  list: 'SELECT * FROM registration WHERE license_id = ? AND due_at <= ? ORDER BY due_at, user LIMIT ?',
  count: 'SELECT count(*) AS count FROM registration WHERE license_id = ? AND due_at <= ?',
  findFirst: 'SELECT min(due_at) AS due_at FROM registration WHERE license_id = ?',
  listEnds: `SELECT "user", due_at, ends_at FROM registration WHERE license_id = ? AND due_at > ?
    ORDER BY due_at`,
  listDue: `SELECT "user", ends_at FROM registration
    WHERE license_id = ? AND due_at > ? AND due_at <= ? AND ends_at <= ?`,
  settle: 'UPDATE OR FAIL registration SET ends_at = ?1, due_at = ?1 WHERE license_id = ?2 AND "user" = ?3',
};

/**
 * Finds ended registrations by `due_at`. A renewal leaves that as it is, so it may be earlier than the end,
 * but never later. Rows that are due and were renewed are moved on to their end before anything is answered,
 * at most once for each renewal. Renewals of rows that are not due stay where they are.
 */
export class DueRegistrations {
  readonly #moveOn;
  readonly #list;
  readonly #count;
  readonly #findFirst;
  readonly #listEnds;
  readonly #listDue;
  readonly #settle;
  readonly #pending: PendingRenewals;
  /** By license: rows that are due by then end when they are due. */
  readonly #exactTo = new Map<LicenseId, Instant>();
  /** By license: an end, and an instant after which no other comes before it. */
  readonly #nextEnds = new Map<LicenseId, { readonly after: Instant; readonly end: Instant }>();
  /** Whether the running transaction has moved any row. If it is not committed, `forget` must be called. */
  hasMoved = false;

  constructor(db: DatabaseSync, pending: PendingRenewals) {
    this.#pending = pending;
    this.#moveOn = db.prepare(SQL.moveOn);
    this.#list = db.prepare(SQL.list);
    this.#count = db.prepare(SQL.count);
    this.#findFirst = db.prepare(SQL.findFirst);
    this.#listEnds = db.prepare(SQL.listEnds);
    this.#listDue = db.prepare(SQL.listDue);
    this.#settle = db.prepare(SQL.settle);
  }

  listEnded(licenseId: LicenseId, now: Instant, limit: number): readonly Row[] {
    this.makeExact(licenseId, now);
    return this.#list.all(licenseId, now, limit) as unknown as Row[];
  }

  countEnded(licenseId: LicenseId, now: Instant): number {
    this.makeExact(licenseId, now);
    return countOf(this.#count.get(licenseId, now) as unknown as Count);
  }

  /** No row ends before this. */
  findFirst(licenseId: LicenseId): Instant | null {
    return (this.#findFirst.get(licenseId) as Pick<Row, 'due_at'> | undefined)?.due_at ?? null;
  }

  /** The next end after `after`. */
  findEnd(licenseId: LicenseId, after: Instant): Instant | null {
    const known = this.#nextEnds.get(licenseId);
    if (known !== undefined && known.after <= after && after < known.end) return known.end;
    this.makeExact(licenseId, after);
    let first: Instant | null = null;
    for (const row of this.#listEnds.iterate(licenseId, after)) {
      const { user, due_at, ends_at } = row as DueRow;
      if (first !== null && due_at >= first) break;
      const end = this.#pending.find(licenseId, user) ?? ends_at;
      if (first === null || end < first) first = end;
    }
    if (first === null) return null;
    this.makeExact(licenseId, (first - 1) as Instant);
    this.#nextEnds.set(licenseId, { after, end: first });
    return first;
  }

  /** A row with the first end gets the second one, which is no earlier. */
  noteRenewal(licenseId: LicenseId, endedAt: Instant, endsAt: Instant): void {
    if (endedAt <= (this.#exactTo.get(licenseId) ?? NEVER)) this.#exactTo.delete(licenseId);
    const next = this.#nextEnds.get(licenseId)?.end;
    if (next !== undefined && (endedAt === next || endsAt < next)) this.#nextEnds.delete(licenseId);
  }

  /** A row of the license was written or removed. */
  noteWrite(licenseId: LicenseId): void {
    this.#nextEnds.delete(licenseId);
  }

  /** Rows may have changed in other ways. */
  forget(): void {
    this.#exactTo.clear();
    this.#nextEnds.clear();
  }

  /** Whether a row has ended since. Writes nothing. */
  hasEndedSince(licenseId: LicenseId, since: Instant, now: Instant): boolean {
    for (const row of this.#listDue.iterate(licenseId, NEVER, now, now)) {
      const { user, ends_at } = row as DueRow;
      const end = this.#pending.find(licenseId, user) ?? ends_at;
      if (end > since && end <= now) return true;
    }
    return false;
  }

  /** Rows that are due by then end when they are due. */
  makeExact(licenseId: LicenseId, to: Instant): void {
    const from = this.#exactTo.get(licenseId) ?? NEVER;
    if (to <= from) return;
    if (this.#pending.hasAny(licenseId)) this.#settleDue(licenseId, from, to);
    if (this.#moveOn.run(licenseId, from, to).changes !== 0) this.hasMoved = true;
    this.#exactTo.set(licenseId, to);
  }

  #settleDue(licenseId: LicenseId, from: Instant, to: Instant): void {
    for (const row of this.#listDue.all(licenseId, from, to, Number.MAX_SAFE_INTEGER)) {
      const { user, ends_at } = row as DueRow;
      const end = this.#pending.find(licenseId, user);
      if (end === undefined || end <= ends_at) continue;
      this.#settle.run(end, licenseId, user);
      this.hasMoved = true;
    }
  }
}
