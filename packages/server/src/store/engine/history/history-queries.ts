import { daysBefore, medianOf, monthStart, USER_DAYS_KEPT } from '../../../core/history/grain.ts';
import { type HistoryStep, stepAt } from '../../../core/history/thinning.ts';
import { waitFigures } from '../../../core/history/wait-figures.ts';
import { findFeature } from '../../../core/nouns/feature-slot.ts';
import { bucketStart, DAY_MS, type Instant, MINUTE_MS } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import type {
  HistoryAnswers,
  HistoryQuery,
  ListConsumptionHistory,
  ListUserHistory,
  ListWaitHistory,
  ListWhatIfBuckets,
  ListWhatIfDenials,
  WhatIfDenial,
  WhatIfScope,
} from '../../history-query.ts';
import { type PreparedQuery, prepareQuery } from '../prepared-query.ts';
import { readable } from '../sql.ts';
import type { RowOf } from '../tables.ts';
import { LIST_OLD_HISTORY } from './history-sql.ts';
import { licenseValues, querySubjects } from './license-names.ts';
import { hasSearched, namesOf, queryDenialHistory, rowsOf, searchValues, somebody } from './query-denials.ts';
import {
  isOfFeature,
  isOfLicense,
  NOTHING_YET,
  querySlotHistory,
  SlotCurves,
  selectBuckets,
  selectStates,
} from './query-slots.ts';

/** Within so many days, the index of days finds the users faster than reading all of them. */
const FEW_DAYS = 3;

/** PostgreSQL adds up floating point numbers faster, and they are exact up to 2^53. */
const PERSON_SUMS = ['grants', 'denials', 'sessions', 'held_ms']
  .map((column) => `CAST(sum(CAST(${column} AS float)) AS bigint) AS ${column}`)
  .join(', ');

type UserRow = Omit<RowOf<'history_person'>, 'grain'> & { readonly total: number };

function queryUsers(
  query: ListUserHistory,
  now: Instant,
): PreparedQuery<HistoryAnswers['list_user_history']> {
  const { since, until, user, search, isByDay = false, limit } = query;
  const isRecent = since >= daysBefore(now, USER_DAYS_KEPT) && until - since <= FEW_DAYS * DAY_MS;
  const [days, latest] = isByDay ? [', at', 'at DESC, '] : ['', ''];
  const subjects = querySubjects(query);
  const sql = `SELECT license_id, feature, "user", others${days}, ${PERSON_SUMS},
      max(last_at) AS last_at, count(*) OVER () AS total
    FROM ${rowsOf('history_person', user)} AND ${isOfLicense(query)} AND at >= :since AND at < :until
      ${isRecent || isByDay ? `AND grain = ${DAY_MS}` : ''}
      ${hasSearched(search)}
    GROUP BY license_id, "user", others, feature${days}
    ORDER BY ${latest}held_ms DESC, grants DESC, denials DESC, license_id, "user", feature LIMIT :limit`;
  const scope = { ...licenseValues(query), ...searchValues(search) };
  return {
    statements: [
      ...subjects.statements,
      { sql, values: { ...scope, since, until, ...namesOf(user), limit } },
    ],
    answer([licenses, rows]) {
      const book = subjects.answer([licenses ?? []]);
      const users = rows as readonly UserRow[];
      return {
        users: users.map((row) => ({
          ...book.subjectOf(row.license_id, row.feature),
          ...somebody(row),
          day: isByDay ? row.at : null,
          grants: row.grants,
          denials: row.denials,
          sessions: row.sessions,
          heldMs: row.held_ms,
          lastAt: row.last_at,
        })),
        leftOff: (users[0]?.total ?? 0) - users.length,
      };
    },
  };
}

function queryConsumption(
  query: ListConsumptionHistory,
): PreparedQuery<HistoryAnswers['list_consumption_history']> {
  const { since, until, feature, limit } = query;
  const subjects = querySubjects(query);
  const sql = `SELECT license_id, feature, at, ${readable('amount')} FROM history_consumption
    WHERE ${isOfLicense(query)} AND ${isOfFeature(feature)} AND at >= :since AND at < :until
    ORDER BY at DESC, license_id, feature LIMIT :limit`;
  const scope = { ...licenseValues(query), ...(feature !== null && { feature }) };
  return {
    statements: [...subjects.statements, { sql, values: { ...scope, since, until, limit } }],
    answer([licenses, rows]) {
      const book = subjects.answer([licenses ?? []]);
      return (rows as readonly RowOf<'history_consumption'>[]).map(({ license_id, at, amount, ...row }) => ({
        ...book.subjectOf(license_id, row.feature),
        day: at,
        amount,
      }));
    },
  };
}

function sumWaits(query: Pick<ListWaitHistory, 'licenseId' | 'among' | 'feature'>): string {
  return `SELECT license_id, feature, seconds, CAST(sum(served) AS bigint) AS served,
      CAST(sum(unserved) AS bigint) AS unserved FROM history_wait
    WHERE ${isOfLicense(query)} AND ${isOfFeature(query.feature)} AND at >= :day AND at < :until
    GROUP BY license_id, feature, seconds ORDER BY license_id, feature, seconds`;
}

type WaitRow = Omit<RowOf<'history_wait'>, 'at'>;

function queryWaits(query: ListWaitHistory): PreparedQuery<HistoryAnswers['list_wait_history']> {
  const { since, until, feature } = query;
  const subjects = querySubjects(query);
  const scope = { ...licenseValues(query), ...(feature !== null && { feature }) };
  const values = { ...scope, day: bucketStart(since, DAY_MS), until };
  return {
    statements: [...subjects.statements, { sql: sumWaits(query), values }],
    answer([licenses, rows]) {
      const book = subjects.answer([licenses ?? []]);
      const bySubject = Map.groupBy(rows as readonly WaitRow[], (row) => `${row.license_id}/${row.feature}`);
      return Array.from(bySubject.values(), (waits) => {
        const [{ license_id, feature: code }] = waits as [WaitRow];
        return { ...book.subjectOf(license_id, code), ...waitFigures(waits) };
      });
    },
  };
}

const SUM_DURATIONS = `SELECT minutes, CAST(sum(sessions) AS bigint) AS sessions FROM history_duration
  WHERE license_id = :licenseId AND feature = :feature AND at >= :day AND at < :until GROUP BY minutes`;

type DurationRow = Pick<RowOf<'history_duration'>, 'minutes' | 'sessions'>;

function beginWhatIf(query: WhatIfScope, now: Instant): PreparedQuery<HistoryAnswers['begin_what_if']> {
  const { licenseId, feature, since, until } = query;
  const subjects = querySubjects(query);
  const values = { licenseId, feature, day: bucketStart(since, DAY_MS), until };
  return {
    statements: [
      ...subjects.statements,
      { sql: SUM_DURATIONS, values },
      { sql: sumWaits(query), values },
      selectStates(query, now),
    ],
    answer([licenses, durations, waits, states]) {
      const book = subjects.answer([licenses ?? []]);
      const license = book.find(licenseId);
      const slots =
        feature === '' ? license?.slots : license && findFeature(license, feature)?.floating?.slots;
      if (slots === undefined) return null;
      const subject = book.subjectOf(licenseId, feature);
      return {
        ...subject,
        slots,
        waits: { ...subject, ...waitFigures(waits as readonly WaitRow[]) },
        medianMinutes: medianOf(
          (durations as readonly DurationRow[]).map((row) => ({ value: row.minutes, count: row.sessions })),
        ),
        start: new SlotCurves([], states ?? [], MINUTE_MS).findStart(licenseId, feature) ?? NOTHING_YET,
      };
    },
  };
}

function listWhatIfBuckets(
  query: ListWhatIfBuckets,
  now: Instant,
): PreparedQuery<HistoryAnswers['list_what_if_buckets']> {
  return {
    statements: [selectBuckets({ ...query, stepMs: MINUTE_MS }, now)],
    answer: ([rows]) => new SlotCurves(rows ?? [], [], MINUTE_MS).bucketsOf(query.licenseId, query.feature),
  };
}

const DENIAL_KEY = '"user", others, host, address, rule, grain, at';

/** Further slots do not help those whom a limit refused. */
function listWhatIfDenials(query: ListWhatIfDenials): PreparedQuery<HistoryAnswers['list_what_if_denials']> {
  const { kind: _, after, ...scope } = query;
  const beyond = ':user, :others, :host, :address, :rule, :grain, :at';
  const sql = `SELECT ${DENIAL_KEY}, first_at AS "firstAt", last_at AS "lastAt" FROM history_denial
    WHERE license_id = :licenseId AND feature = :feature AND reason = 'floating_not_available'
      AND rule NOT LIKE 'limit %' AND at >= :since AND at < :until
      ${after === null ? '' : `AND (${DENIAL_KEY}) > (${beyond})`}
    ORDER BY ${DENIAL_KEY} LIMIT :limit`;
  return prepareQuery(sql, { ...scope, ...after }, (rows: readonly WhatIfDenial[]) =>
    rows.map((row) => ({ ...row })),
  );
}

/** Most chunks at once; what remains is listed the next time. */
const MAX_CHUNKS = 1000;

interface ChunkRow {
  readonly license_id: LicenseId;
  readonly at: Instant;
}

const PARTS = ['old', 'minutes', 'hours', 'days'] as const satisfies readonly HistoryStep['part'][];

function askOld({
  kind: _,
  ...cutoffs
}: Extract<HistoryQuery, { kind: 'list_old_history' }>): PreparedQuery<HistoryAnswers['list_old_history']> {
  const valuesOf = {
    minutes: { minutes: cutoffs.minutes },
    hours: { hours: cutoffs.hours },
    days: { days: cutoffs.days },
    old: { old: cutoffs.old, month: monthStart(cutoffs.old) },
  };
  return {
    statements: PARTS.map((part) => ({
      sql: `${LIST_OLD_HISTORY[part]} ORDER BY 1, 2 LIMIT ${MAX_CHUNKS}`,
      values: valuesOf[part],
    })),
    answer: (rows) =>
      PARTS.flatMap((part, index) =>
        (rows[index] as readonly ChunkRow[]).map(({ license_id, at }) => ({
          licenseId: license_id,
          step: stepAt(part, at),
        })),
      ),
  };
}

function queryProducts(): PreparedQuery<HistoryAnswers['list_products']> {
  const sql = 'SELECT id, product FROM license ORDER BY id';
  const read = (rows: readonly RowOf<'license'>[]) =>
    rows.map(({ id, product }) => ({ licenseId: id, product }));
  return prepareQuery(sql, {}, read);
}

/** What the stores are asked about the history. */
export const HISTORY_QUERIES = {
  list_slot_history: querySlotHistory,
  list_denial_history: queryDenialHistory,
  list_user_history: queryUsers,
  list_consumption_history: queryConsumption,
  list_wait_history: queryWaits,
  begin_what_if: beginWhatIf,
  list_what_if_buckets: listWhatIfBuckets,
  list_what_if_denials: listWhatIfDenials,
  list_old_history: askOld,
  list_products: queryProducts,
} satisfies {
  readonly [K in HistoryQuery['kind']]: (
    query: Extract<HistoryQuery, { kind: K }>,
    now: Instant,
  ) => PreparedQuery<HistoryAnswers[K]>;
};
