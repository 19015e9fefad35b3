import { explainDenial } from '../../../core/history/explain-denial.ts';
import { DAY_MS } from '../../../core/nouns/instant.ts';
import type { LicenseId } from '../../../core/nouns/license.ts';
import { foldCase } from '../../../core/nouns/user-name.ts';
import type { DenialHistory, DenialRecord, ListDenialHistory } from '../../history-query.ts';
import { hasPart, partValues } from '../part-of-name.ts';
import type { PreparedQuery } from '../prepared-query.ts';
import type { RowOf } from '../tables.ts';
import { type LicenseNames, licenseValues, querySubjects } from './license-names.ts';
import { isOfFeature, isOfLicense } from './query-slots.ts';

/** A store that ignores case has folded names, and those from before it did. */
const IS_OF_USER = `"user" IN (CAST(:user AS text),
    CAST(CASE WHEN (SELECT ignores_case FROM server) = 1 THEN :folded ELSE :user END AS text))
  AND others = 0`;

/** All rows, or those of a user, which are found by the key through the licenses. */
export function rowsOf(table: 'history_person' | 'history_denial', user: string | null): string {
  if (user === null) return `${table} WHERE license_id > 0`;
  return `license CROSS JOIN ${table} WHERE license_id = license.id AND ${IS_OF_USER}`;
}

export function namesOf(user: string | null) {
  return user === null ? {} : { user, folded: foldCase(user) };
}

/** Only named users, by a part of their names. */
export function hasSearched(search: string | undefined): string {
  return search === undefined ? '' : `AND others = 0 AND ${hasPart('"user"')}`;
}

export function searchValues(search: string | undefined) {
  return search === undefined ? {} : partValues(search);
}

/** Over a longer time, most rows are read anyway, and an index would only cost. */
const INDEXED_MS = 8 * DAY_MS;

const MAX_USERS = 50;

interface GroupRow {
  readonly license_id: LicenseId;
  readonly feature: string;
  readonly reason: RowOf<'history_denial'>['reason'];
  readonly rule: string;
  readonly denials: number;
  readonly records: number;
}

type UserRow = Pick<RowOf<'history_denial'>, 'user' | 'others' | 'denials'>;

export function queryDenialHistory(query: ListDenialHistory): PreparedQuery<DenialHistory> {
  const { feature, user, search, reason, since, until, limit } = query;
  const scope = { ...licenseValues(query), ...(feature !== null && { feature }) };
  const where = `AND ${isOfLicense(query)} AND ${isOfFeature(feature)}
    ${reason === null ? '' : 'AND reason = CAST(:reason AS text)'} ${hasSearched(search)}`;
  const from = (at: string) =>
    `FROM ${rowsOf('history_denial', user)} ${where} AND ${at} >= :since AND ${at} < :until`;
  const at = user !== null || until - since > INDEXED_MS ? '+at' : 'at';
  const names = { ...namesOf(user), ...searchValues(search) };
  const values = { ...scope, since, until, ...names, ...(reason !== null && { reason }) };
  const subjects = querySubjects(query);
  return {
    statements: [
      ...subjects.statements,
      {
        sql: `SELECT license_id, feature, reason, rule,
            CAST(sum(denials) AS bigint) AS denials, count(*) AS records
          ${from(at)}
          GROUP BY license_id, feature, reason, rule`,
        values,
      },
      {
        sql: `SELECT "user", others, CAST(sum(denials) AS bigint) AS denials ${from(at)}
          GROUP BY "user", others ORDER BY 3 DESC, "user" LIMIT ${MAX_USERS}`,
        values,
      },
      {
        sql: `SELECT history_denial.* ${from(user === null ? 'at' : '+at')}
          ORDER BY at DESC, last_at DESC, "user" LIMIT :limit`,
        values: { ...values, limit },
      },
    ],
    answer([licenses, groups, users, records]) {
      const book = subjects.answer([licenses ?? []]);
      const listed = (records as readonly RowOf<'history_denial'>[]).map((row) => presentDenial(row, book));
      const counts = groups as readonly GroupRow[];
      return {
        ...sumGroups(counts, book),
        byUser: (users as readonly UserRow[]).map((row) => ({ ...somebody(row), count: row.denials })),
        denials: listed,
        leftOff: counts.reduce((sum, { records: count }) => sum + count, 0) - listed.length,
      };
    },
  };
}

export function somebody({ user, others }: Pick<UserRow, 'user' | 'others'>) {
  return { user: user === '' ? null : user, others: others === 1 };
}

function sumGroups(groups: readonly GroupRow[], book: LicenseNames) {
  const sum = (rows: readonly GroupRow[]) => rows.reduce((total, { denials }) => total + denials, 0);
  const byCount = (a: { count: number }, b: { count: number }) => b.count - a.count;
  const byReason = [...Map.groupBy(groups, ({ reason }) => reason)];
  const byRule = [...Map.groupBy(groups, ({ rule }) => rule)].filter(([rule]) => rule !== '');
  const byLicense = [...Map.groupBy(groups, (row) => `${row.license_id} ${row.feature}`).values()];
  return {
    total: sum(groups),
    byReason: byReason.map(([reason, rows]) => ({ reason, count: sum(rows) })).sort(byCount),
    byRule: byRule.map(([rule, rows]) => ({ rule, count: sum(rows) })).sort(byCount),
    byLicense: byLicense
      .map((rows) => {
        const [{ license_id, feature }] = rows as [GroupRow];
        return { ...book.subjectOf(license_id, feature), count: sum(rows) };
      })
      .sort(byCount),
  };
}

function presentDenial(row: RowOf<'history_denial'>, book: LicenseNames): DenialRecord {
  const { license_id, feature, reason, rule, slots } = row;
  const { in_use: inUse, borrowed, next_free_at: nextFreeAt } = row;
  const subject = book.subjectOf(license_id, feature);
  return {
    ...subject,
    ...somebody(row),
    firstAt: row.first_at,
    lastAt: row.last_at,
    reason,
    rule: rule === '' ? null : rule,
    host: row.host === '' ? null : row.host,
    address: row.address === '' ? null : row.address,
    count: row.denials,
    explanation: explainDenial({ ...subject, reason, rule, slots, inUse, borrowed, nextFreeAt }),
  };
}
