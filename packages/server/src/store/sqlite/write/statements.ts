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
import { prepareLate } from '../wire/read-rows.ts';
import { BulkInsert } from './bulk-insert.ts';
import { EndedBorrows } from './ended-borrows.ts';
import { RenewalLog } from './renewal-log.ts';
import { SlotBook } from './slot-book.ts';

/** What only this store asks. */
const OWN = {
  ...writesTo('license', {
    updateLicenseHead: 'UPDATE license SET in_use = ?, counts = ?, audit_n = ?, audit_mac = ? WHERE id = ?',
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

const TRANSACTIONS = {
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
} as const;

type Transactions = Readonly<Record<keyof typeof TRANSACTIONS, { run(): void }>>;

export type SqliteStatements = Statements &
  PreparedAll<typeof OWN> &
  Transactions & {
    readonly registration: SlotBook;
    readonly addLinks: BulkInsert;
    readonly addHistory: Readonly<Record<HistoryTable, BulkInsert>>;
  };

/** How much is kept in memory. */
interface Sizes {
  /** Renewals that are folded together: see `RenewalLog`. */
  readonly renewals?: number | undefined;
  /** Rows of the `SlotBook`. */
  readonly rows?: number | undefined;
}

/** Every statement of the writing connection, prepared once: `how` decides when. */
export function prepareStatements(
  db: DatabaseSync,
  sizes: Sizes = {},
  how: typeof prepareLate = prepareLate,
): SqliteStatements {
  const prepareOne = (({ sql }) => how(db, sql)) as Prepare;
  const tables = TABLE_NAMES.map((name) => [name, accessRows(name, prepareOne, sqliteColumnsOf(name))]);
  const { registration, ended_borrow, denial, place_denial, ...others } = Object.fromEntries(
    tables,
  ) as AllRows;
  const endedBorrows = new EndedBorrows(db, ended_borrow);
  const book = new SlotBook(db, {
    rows: registration,
    log: new RenewalLog(db, sizes.renewals),
    onUndo: () => endedBorrows.forget(),
    mostRows: sizes.rows,
  });
  const transactions = Object.entries(TRANSACTIONS).map(([name, sql]) => [name, db.prepare(sql)]);
  const statements = prepareAll({ ...STATEMENTS, ...OWN }, besides(book, prepareOne));
  return {
    ...statements,
    ...others,
    registration: book,
    denial: { ...denial, put: book.counting(denial.put) },
    place_denial: { ...place_denial, put: book.counting(place_denial.put) },
    ended_borrow: endedBorrows.rows,
    removeEndedBorrows: endedBorrows.remove,
    addLinks: new BulkInsert(db, 'audit_link', ['chain', 'n', 'at', 'events', 'mac']),
    addHistory: addHistory(db),
    countEnded: countEnded(book),
    countBorrowed: countBorrowed(book, statements.countBorrowed),
    ...(Object.fromEntries(transactions) as Transactions),
  };
}

/** Counts in the index alone. */
function countEnded(book: SlotBook): Statements['countEnded'] {
  const get = (...[id, now]: Values) => ({ count: book.countEnded(id as LicenseId, now as Instant) });
  return { get, all: (...values) => [get(...values)] };
}

const NONE: Count = { count: 0 };

/** Most licenses have nothing to count. */
function countBorrowed(book: SlotBook, counted: Statements['countBorrowed']) {
  const get: typeof counted.get = (...values) => {
    const { id } = values[0] as { readonly id: LicenseId };
    return book.isUnborrowed(id) ? NONE : counted.get(...values);
  };
  return { ...counted, get };
}

/** They ask for no end, only which registrations are live. So those that are not due need not be exact. */
const ASK_WHO_IS_LIVE: ReadonlySet<Read | Write> = new Set([
  STATEMENTS.countBorrowed,
  STATEMENTS.countBorrowedFrom,
  STATEMENTS.countLiveFeatureSlots,
  STATEMENTS.findNextFeatureEnd,
]);

/** They ask who holds a slot, ended or not. */
const ASK_WHO_HOLDS: ReadonlySet<Read | Write> = new Set([STATEMENTS.listHolders]);

/** Rows are added to those of the same key. */
function addHistory(db: DatabaseSync): SqliteStatements['addHistory'] {
  const inserts = HISTORY_TABLES.map((table) => {
    return [table, new BulkInsert(db, table, columnsOf(table), addToRow(table))];
  });
  return Object.fromEntries(inserts);
}

/** Statements on many registrations must find what was renewed, and may change what is in memory. */
function besides(book: SlotBook, prepareOne: Prepare): Prepare {
  return ((declared: Read | Write) => {
    const statement = prepareOne(declared) as StatementSync;
    const isWrite = 'writes' in declared && declared.writes === 'registration';
    if (!isWrite && !declared.reads.includes('registration')) return statement;
    if (ASK_WHO_HOLDS.has(declared)) return statement;
    const prepareRows = (values: readonly unknown[]) => {
      if (!ASK_WHO_IS_LIVE.has(declared)) return book.fold();
      const { id, now } = values[0] as { readonly id: LicenseId; readonly now: Instant };
      book.makeExact(id, now);
    };
    const after = <A extends readonly never[], T>(ask: (...values: A) => T) => {
      return (...values: A): T => {
        prepareRows(values);
        if (isWrite) book.forget();
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
