import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Instant } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import { addToRow, HISTORY_TABLES, type HistoryTable } from '../../engine/history/history-sql.ts';
import { type AllRows, accessRows } from '../../engine/row-sql.ts';
import {
  type Count,
  type Prepare,
  type PreparedAll,
  prepareAll,
  type Read,
  reads,
  type Values,
  type Write,
  writesTo,
} from '../../engine/sql.ts';
import { LIST_BARS, STATEMENTS, type Statements } from '../../engine/statements.ts';
import { columnsOf, type RowOf, sqliteColumnsOf, TABLE_NAMES } from '../../engine/tables.ts';
import { prepare } from '../wire/ask.ts';
import { BulkInsert } from './bulk-insert.ts';
import { DueRegistrations } from './due-registrations.ts';
import { EndedBorrows } from './ended-borrows.ts';
import { AHEAD, KeptRegistrations } from './kept-registrations.ts';
import { PendingRenewals } from './pending-renewals.ts';

/** What only this store asks. */
const OWN = {
  ...writesTo('license', {
    updateLicenseHead: 'UPDATE license SET in_use = ?, audit_n = ?, audit_mac = ? WHERE id = ?',
  }),
  ...writesTo('server', {
    saveServer: `UPDATE server SET mark = ?, audit_n = ?, audit_mac = ?,
      audit_anchor = coalesce(?, audit_anchor) WHERE id = 1`,
    saveSignedLinks: 'UPDATE server SET audit_signed_links = ? WHERE id = 1',
  }),
  listLicenses: reads<RowOf<'license'>>('license', 'SELECT * FROM license ORDER BY added_order'),
  listBars: reads<RowOf<'bar'>>('bar', LIST_BARS),
  countAnswers: reads<Count>('remembered_answer', 'SELECT count(*) AS count FROM remembered_answer'),
  hasFeatureEndedSince: reads(
    'feature_slot',
    'SELECT 1 FROM feature_slot WHERE license_id = ? AND ends_at > ? AND ends_at <= ? LIMIT 1',
  ),
} as const;

const HAS_BORROWS = 'SELECT 1 FROM registration WHERE license_id = ? AND borrowed_until IS NOT NULL LIMIT 1';
const LIST_AFTER = `SELECT * FROM registration WHERE license_id = ? AND "user" > ? ORDER BY "user" LIMIT ?`;

const TRANSACTIONS = {
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  savepoint: 'SAVEPOINT command',
  release: 'RELEASE command',
  rollbackTo: 'ROLLBACK TO command',
} as const;

type Transactions = Readonly<Record<keyof typeof TRANSACTIONS, { run(): void }>>;

export type SqliteStatements = Statements &
  PreparedAll<typeof OWN> &
  Transactions & {
    readonly registration: KeptRegistrations;
    readonly endedBorrows: EndedBorrows;
    readonly addLinks: BulkInsert;
    readonly addHistory: Readonly<Record<HistoryTable, BulkInsert>>;
  };

/** How much is kept in memory: see `PendingRenewals` and `KeptRegistrations`. */
interface Sizes {
  readonly part?: number | undefined;
  readonly generation?: number | undefined;
}

/** Every statement of the writing connection, prepared once. */
export function prepareStatements(db: DatabaseSync, { part, generation }: Sizes = {}): SqliteStatements {
  const prepareOne = (({ sql }) => prepare(db, sql)) as Prepare;
  const rows = TABLE_NAMES.map((name) => [name, accessRows(name, prepareOne, sqliteColumnsOf(name))]);
  const { registration, ended_borrow, denial, place_denial, ...others } = Object.fromEntries(rows) as AllRows;
  const pending = new PendingRenewals(db, part);
  const after = prepare(db, LIST_AFTER);
  const anyBorrow = prepare(db, HAS_BORROWS);
  const kept = new KeptRegistrations({
    rows: registration,
    listAfter: ({ license_id, user }) =>
      after.all(license_id, user, AHEAD) as unknown as RowOf<'registration'>[],
    hasBorrows: (id) => anyBorrow.get(id) !== undefined,
    pending,
    due: new DueRegistrations(db, pending),
    generation,
  });
  const endedBorrows = new EndedBorrows(db, ended_borrow);
  const transactions = Object.entries(TRANSACTIONS).map(([name, sql]) => [name, db.prepare(sql)]);
  const statements = prepareAll({ ...STATEMENTS, ...OWN }, besides(kept, prepareOne));
  return {
    ...statements,
    ...others,
    registration: kept,
    denial: { ...denial, put: kept.counting(denial.put) },
    place_denial: { ...place_denial, put: kept.counting(place_denial.put) },
    ended_borrow: endedBorrows.rows,
    endedBorrows,
    removeEndedBorrows: endedBorrows.remove,
    addLinks: new BulkInsert(db, 'audit_link', ['chain', 'n', 'at', 'events', 'mac']),
    addHistory: addHistory(db),
    countEnded: countEnded(kept),
    countBorrowed: countBorrowed(kept, statements.countBorrowed),
    ...(Object.fromEntries(transactions) as Transactions),
  };
}

/** Counts in the index alone. */
function countEnded(kept: KeptRegistrations): Statements['countEnded'] {
  const get = (...[id, now]: Values) => ({ count: kept.countEnded(id as LicenseId, now as Instant) });
  return { get, all: (...values) => [get(...values)] };
}

const NONE: Count = { count: 0 };

/** Most licenses have nothing to count. */
function countBorrowed(kept: KeptRegistrations, counted: Statements['countBorrowed']) {
  const get: typeof counted.get = (...values) => {
    const { id } = values[0] as { readonly id: LicenseId };
    return kept.isUnborrowed(id) ? NONE : counted.get(...values);
  };
  return { ...counted, get };
}

/** They ask for no end, only which registrations are live. So those that are not due need not be exact. */
const ASK_WHO_IS_LIVE: ReadonlySet<Read | Write> = new Set([
  STATEMENTS.countBorrowed,
  STATEMENTS.countCrowd,
  STATEMENTS.countLiveFeatureSlots,
  STATEMENTS.findNextFeatureEnd,
]);

/** Rows are added to those of the same key. */
function addHistory(db: DatabaseSync): SqliteStatements['addHistory'] {
  const inserts = HISTORY_TABLES.map((table) => {
    return [table, new BulkInsert(db, table, columnsOf(table), addToRow(table))];
  });
  return Object.fromEntries(inserts);
}

/** Statements on many registrations must find what was renewed, and may change what is in memory. */
function besides(kept: KeptRegistrations, prepareOne: Prepare): Prepare {
  return ((declared: Read | Write) => {
    const statement = prepareOne(declared) as StatementSync;
    const isWrite = 'writes' in declared && declared.writes === 'registration';
    if (!isWrite && !declared.reads.includes('registration')) return statement;
    const prepareRows = (values: readonly unknown[]) => {
      if (!ASK_WHO_IS_LIVE.has(declared)) return kept.foldAll();
      const { id, now } = values[0] as { readonly id: LicenseId; readonly now: Instant };
      kept.due.makeExact(id, now);
    };
    const after = <A extends readonly never[], T>(ask: (...values: A) => T) => {
      return (...values: A): T => {
        prepareRows(values);
        if (isWrite) kept.forget();
        return ask(...values);
      };
    };
    return {
      get: after((...values) => statement.get(...values)),
      all: after((...values) => statement.all(...values)),
      run: after((...values) => statement.run(...values)),
    };
  }) as Prepare;
}
