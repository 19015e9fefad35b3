import type { DatabaseSync } from 'node:sqlite';
import { type AllRows, accessRows } from '../../engine/row-sql.ts';
import { type Count, type Prepare, type PreparedAll, prepareAll, reads, writesTo } from '../../engine/sql.ts';
import { LIST_BARS, STATEMENTS, type Statements } from '../../engine/statements.ts';
import { type RowOf, TABLE_NAMES } from '../../engine/tables.ts';
import { prepare } from '../wire/ask.ts';

/** What only this store asks. */
const OWN = {
  /** Feature slots first: otherwise the planner may start from the registrations. */
  findNextFeatureEnd: {
    ...STATEMENTS.findNextFeatureEnd,
    sql: STATEMENTS.findNextFeatureEnd.sql.replace(' JOIN ', ' CROSS JOIN '),
  },
  ...writesTo('license', {
    updateLicenseHead: 'UPDATE license SET in_use = :inUse, audit_n = :n, audit_mac = :mac WHERE id = :id',
  }),
  ...writesTo('server', {
    saveServer: `UPDATE server SET mark = ?, audit_n = ?, audit_mac = ?,
      audit_anchor = coalesce(?, audit_anchor) WHERE id = 1`,
    saveSignedLinks: 'UPDATE server SET audit_signed_links = ? WHERE id = 1',
  }),
  ...writesTo('audit_link', {
    addAuditLink: 'INSERT INTO audit_link (chain, n, at, events, mac) VALUES (?, ?, ?, ?, ?)',
  }),
  listLicenses: reads<RowOf<'license'>>('license', 'SELECT * FROM license ORDER BY added_order'),
  listBars: reads<RowOf<'bar'>>('bar', LIST_BARS),
  countAnswers: reads<Count>('remembered_answer', 'SELECT count(*) AS count FROM remembered_answer'),
  hasEndedSince: reads(
    'registration',
    'SELECT 1 FROM registration WHERE license_id = ? AND ends_at > ? AND ends_at <= ? LIMIT 1',
  ),
  hasFeatureEndedSince: reads(
    'feature_slot',
    'SELECT 1 FROM feature_slot WHERE license_id = ? AND ends_at > ? AND ends_at <= ? LIMIT 1',
  ),
} as const;

const TRANSACTIONS = {
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  savepoint: 'SAVEPOINT command',
  release: 'RELEASE command',
  rollbackTo: 'ROLLBACK TO command',
} as const;

type Transactions = Readonly<Record<keyof typeof TRANSACTIONS, { run(): void }>>;

export type SqliteStatements = Statements & PreparedAll<typeof OWN> & Transactions;

/** Every statement of the writing connection, prepared once. */
export function prepareStatements(db: DatabaseSync): SqliteStatements {
  const prepareOne = (({ sql }) => prepare(db, sql)) as Prepare;
  const rows = TABLE_NAMES.map((name) => [name, accessRows(name, prepareOne)]);
  const transactions = Object.entries(TRANSACTIONS).map(([name, sql]) => [name, db.prepare(sql)]);
  return {
    ...prepareAll({ ...STATEMENTS, ...OWN }, prepareOne),
    ...(Object.fromEntries(rows) as AllRows),
    ...(Object.fromEntries(transactions) as Transactions),
  };
}
