import type { Instant } from '../../core/nouns/instant.ts';
import type { ListSlots, SlotOrder, SlotPage } from '../query.ts';
import type { Asked } from './asked.ts';
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
    AND (CAST(:borrowed AS bigint) IS NULL OR (CASE WHEN borrowed_until > :now THEN 1 ELSE 0 END) = :borrowed)
    AND (CAST(:feature AS text) IS NULL OR EXISTS (SELECT 1 FROM feature_slot
      WHERE feature_slot.license_id = registration.license_id AND feature_slot."user" = registration."user"
        AND feature_slot.feature = :feature AND feature_slot.ends_at > :now))
    AND (CAST(:pattern AS text) IS NULL
      OR lower(coalesce(spelling, "user")) LIKE :pattern ESCAPE '~'
      OR lower(hostname) LIKE :pattern ESCAPE '~'
      OR lower(address) LIKE :pattern ESCAPE '~'
      OR origin BETWEEN CAST(:first AS text) AND CAST(:last AS text))`;

/** The features of the page only: few have any, and looking for them takes longer than finding the page. */
function pageSql(order: SlotOrder, descending: boolean): string {
  const way = descending ? 'DESC' : 'ASC';
  const sorted = `ORDER BY ${ORDERS[order]} ${way}, license_id, "user"`;
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
export function askSlots(query: ListSlots, now: Instant): Asked<SlotPage> {
  const { licenseId, feature, limit, offset } = query;
  const borrowed = query.isBorrowed === null ? null : Number(query.isBorrowed);
  const meant = { now, licenseId, borrowed, feature, pattern: patternOf(query.search) };
  const values = { ...meant, ...originKeys(query.origin) };
  const page = { ...values, limit, offset, separator: SEPARATOR };
  return {
    statements: [
      { sql: `SELECT count(*) AS count ${MEANT}`, values },
      { sql: pageSql(query.order, query.isDescending), values: page },
    ],
    answer: ([counts, rows]) => ({
      matched: (counts as readonly Count[])[0]?.count ?? 0,
      now,
      slots: (rows as readonly SlotRow[]).map((row) => ({
        licenseId: row.license_id,
        product: row.product,
        registration: registrationFromRow(row),
        features: row.features === null ? [] : row.features.split(SEPARATOR).sort(),
      })),
    }),
  };
}

/** As part of a name. */
function patternOf(search: string | null): string | null {
  if (search === null) return null;
  return `%${search.toLowerCase().replace(/[~%_]/g, (sign) => `~${sign}`)}%`;
}
