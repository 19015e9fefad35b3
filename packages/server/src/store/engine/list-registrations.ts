import type { Instant } from '../../core/nouns/instant.ts';
import type { ListRegistrations, RegistrationPage, SlotOrder } from '../query.ts';
import { isAmong, listIds } from './among.ts';
import { hasPart, partValues } from './part-of-name.ts';
import type { PreparedQuery } from './prepared-query.ts';
import { originKeys, registrationFromRow } from './rows.ts';
import type { Count } from './sql.ts';
import type { RowOf } from './tables.ts';

/** What each order compares; equal ones are in the order of licenses and users. Never null. */
const ORDERS: Readonly<Record<SlotOrder, string>> = {
  user: `lower(coalesce(spelling, "user"))`,
  host: `lower(coalesce(hostname, ''))`,
  address: `coalesce(origin, '')`,
  license: 'license_id',
  state: 'CASE WHEN borrowed_until > :now THEN 0 ELSE 1 END',
  since: 'registered_at',
  until: 'ends_at',
};

const MEANT = `FROM registration JOIN license ON license.id = license_id
  WHERE ends_at > :now AND removed_at IS NULL
    AND (CAST(:licenseId AS bigint) IS NULL OR license_id = :licenseId)
    AND (CAST(:product AS text) IS NULL OR license.product = :product)
    AND (CAST(:among AS text) IS NULL OR ${isAmong('license_id')})
    AND (CAST(:user AS text) IS NULL OR "user" = :user)
    AND (CAST(:first AS text) IS NULL OR origin BETWEEN :first AND CAST(:last AS text))
    AND (license_id, "user") > (CAST(:afterLicense AS bigint), CAST(:afterUser AS text))
    AND (CAST(:borrowed AS bigint) IS NULL OR (CASE WHEN borrowed_until > :now THEN 1 ELSE 0 END) = :borrowed)
    AND (CAST(:feature AS text) IS NULL OR EXISTS (SELECT 1 FROM feature_slot
      WHERE feature_slot.license_id = registration.license_id AND feature_slot."user" = registration."user"
        AND feature_slot.feature = :feature AND feature_slot.ends_at > :now))
    AND (CAST(:partA AS text) IS NULL
      OR ${hasPart('coalesce(spelling, "user")')}
      OR ${hasPart('hostname')}
      OR ${hasPart('address')}
      OR origin BETWEEN CAST(:searchFirst AS text) AND CAST(:searchLast AS text))`;

/** The features of the page only: few have any, and looking for them takes longer than finding the page. */
function pageSql(order: SlotOrder, descending: boolean): string {
  const way = descending ? 'DESC' : 'ASC';
  // SQLite walks along its index only if nothing is named twice.
  const rest = order === 'license' ? '"user"' : 'license_id, "user"';
  const sorted = `ORDER BY ${ORDERS[order]} ${way}, ${rest}`;
  return `SELECT page.*, (SELECT string_agg(feature, CAST(:separator AS text)) FROM feature_slot
      WHERE feature_slot.license_id = page.license_id AND feature_slot."user" = page."user"
        AND feature_slot.ends_at > :now) AS features
    FROM (SELECT registration.*, license.product ${MEANT} ${sorted} LIMIT :limit OFFSET :offset) AS page
    ${sorted}`;
}

/** No feature code has a control character. */
const SEPARATOR = '\u001f';

interface SlotRow extends RowOf<'registration'> {
  readonly product: string;
  readonly features: string | null;
}

/** A page of who holds a slot, in any order. */
export function queryRegistrations(query: ListRegistrations, now: Instant): PreparedQuery<RegistrationPage> {
  const { order = 'license', isDescending = false, limit, offset = 0, after } = query;
  const meant = valuesOf(query, now);
  const page = {
    sql: pageSql(order, isDescending),
    values: { ...meant, limit, offset, separator: SEPARATOR },
  };
  const count = { sql: `SELECT count(*) AS count ${MEANT}`, values: meant };
  return {
    statements: after === null ? [page, count] : [page],
    answer: ([rows, counts]) => ({
      matched: after === null ? ((counts as readonly Count[])[0]?.count ?? 0) : null,
      now,
      registrations: (rows as readonly SlotRow[]).map((row) => ({
        licenseId: row.license_id,
        product: row.product,
        registration: registrationFromRow(row),
        features: row.features === null ? [] : row.features.split(SEPARATOR).sort(),
      })),
    }),
  };
}

function valuesOf(query: ListRegistrations, now: Instant) {
  const { licenseId, product, among, user, feature = null, isBorrowed, search, after } = query;
  const { first: searchFirst, last: searchLast } = originKeys(search?.origin ?? undefined);
  return {
    ...{ now, licenseId, product, user, feature },
    among: among === undefined ? null : listIds(among),
    borrowed: isBorrowed === undefined ? null : Number(isBorrowed),
    ...originKeys(query.origin),
    ...partValues(search?.text ?? null),
    ...{ searchFirst, searchLast },
    afterLicense: after?.licenseId ?? -1,
    afterUser: after?.user ?? '',
  };
}
