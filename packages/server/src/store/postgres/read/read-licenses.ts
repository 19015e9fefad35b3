import { DENIAL_WINDOW_MS, PLACE_WINDOW_MS } from '../../../core/lending/deny.ts';
import { ANSWER_LIFETIME_MS } from '../../../core/lending/repeat-answer.ts';
import { type Standing, WHOLE_LICENSE, windowStart } from '../../../core/nouns/consumption.ts';
import { type Instant, instant } from '../../../core/nouns/instant.ts';
import { type License, type LicenseId, licenseId } from '../../../core/nouns/license.ts';
import {
  licenseFromRow,
  originKeys,
  type Row,
  registrationFromRow,
  withListedIdentity,
} from '../../engine/rows.ts';
import type { LicenseRecord, ListRegistrations, RegistrationRecord } from '../../query.ts';
import { type Ask, isStorable } from '../wire/ask.ts';

const LIST_LICENSES = `SELECT license.*,
    in_use - (SELECT count(*) FROM registration WHERE license_id = license.id AND ends_at <= $2) AS live,
    (SELECT count(*) FROM registration WHERE license_id = license.id AND borrowed_until > $2) AS borrowed
  FROM license WHERE removed_at IS NULL AND ($1::text IS NULL OR product = $1)
  ORDER BY added_order DESC`;

const COUNT_FEATURE_SLOTS = `SELECT license_id, feature, count(*) AS count
  FROM feature_slot JOIN registration USING (license_id, "user")
  WHERE feature_slot.ends_at > $2 AND registration.ends_at > $2 AND license_id IN (
    SELECT id FROM license WHERE removed_at IS NULL AND ($1::text IS NULL OR product = $1))
  GROUP BY license_id, feature`;

/** Old windows stay for ever, so that only those are looked up that are wanted. */
const LIST_TOTALS = `SELECT license_id, feature, total FROM consumption_total
  JOIN json_to_recordset($1::text::json) AS wanted (id bigint, code text, start bigint)
    ON license_id = wanted.id AND feature = wanted.code AND window_start = wanted.start`;

/** As many questions as there are here, however many licenses there are. */
export async function listLicenses(
  ask: Ask,
  product: string | null,
  now: Instant,
): Promise<readonly LicenseRecord[]> {
  if (!isStorable(product)) return [];
  const [rows, slots] = await Promise.all([
    ask(LIST_LICENSES, [product, now]),
    ask(COUNT_FEATURE_SLOTS, [product, now]),
  ]);
  const licenses = rows.map(licenseFromRow);
  const totals = await ask(LIST_TOTALS, [JSON.stringify(licenses.flatMap((one) => listMeters(one, now)))]);
  const counted: Counted = { totals: byMeter(totals, 'total'), slots: byMeter(slots, 'count') };
  return rows.map((row, index) => {
    const license = licenses[index] as License;
    return {
      license,
      inUse: row.live as number,
      borrowed: row.borrowed as number,
      standing: standingFrom(license, counted),
      addedAt: instant(row.added_at as number),
      now,
    };
  });
}

interface Counted {
  readonly totals: ReadonlyMap<string, number>;
  readonly slots: ReadonlyMap<string, number>;
}

/** The windows in which a license and its features are counted now. */
function listMeters({ id, consumption, features }: License, now: Instant) {
  const own = { id, code: WHOLE_LICENSE, start: windowStart(consumption.period, now) };
  const others = features.map((feature) => ({
    id,
    code: feature.code.toWellFormed(),
    start: windowStart(feature.consumption.period, now),
  }));
  return [own, ...others].filter(({ code }) => isStorable(code));
}

function byMeter(rows: readonly Row[], column: string): ReadonlyMap<string, number> {
  return new Map(
    rows.map((row) => [meterName(row.license_id as number, row.feature as string), row[column] as number]),
  );
}

/** Half a character is stored as the one that stands for what cannot be read. */
function meterName(id: number, feature: string): string {
  return `${id} ${feature.toWellFormed()}`;
}

function standingFrom({ id, features }: License, { totals, slots }: Counted): Standing {
  return {
    total: totals.get(meterName(id, WHOLE_LICENSE)) ?? 0,
    features: features.map(({ code, floating }) => ({
      code,
      total: totals.get(meterName(id, code)) ?? 0,
      inUse: floating === null ? 0 : (slots.get(meterName(id, code)) ?? 0),
    })),
  };
}

const LIST_REGISTRATIONS = `SELECT registration.*, license.product
  FROM registration JOIN license ON license.id = license_id
  WHERE ends_at > $1 AND removed_at IS NULL
    AND ($2::bigint IS NULL OR license_id = $2)
    AND ($3::text IS NULL OR license.product = $3)
    AND ($4::text IS NULL OR "user" = $4)
    AND (license_id, "user") > ($5::bigint, $6::text)
    AND ($8::text IS NULL OR origin BETWEEN $8 AND $9::text)
  ORDER BY license_id, "user" LIMIT $7`;

export async function listRegistrations(
  ask: Ask,
  asked: ListRegistrations,
  now: Instant,
): Promise<readonly RegistrationRecord[]> {
  const [server] = await ask('SELECT ignores_case FROM server WHERE id = $1', [1]);
  const { licenseId: id, product, user, origin, after, limit } = withListedIdentity(asked, server);
  if (!isStorable(product) || !isStorable(user)) return [];
  // Nothing is between a text and the same with a zero behind it.
  const afterUser = after?.user.split('\0')[0] ?? '';
  const place = [after?.licenseId ?? -1, afterUser];
  const { first, last } = originKeys(origin);
  const rows = await ask(LIST_REGISTRATIONS, [now, id, product, user, ...place, limit, first, last]);
  return rows.map((row) => ({
    licenseId: licenseId(row.license_id as number),
    product: row.product as string,
    registration: registrationFromRow(row),
    now,
  }));
}

const LIST_UNTIDY = `SELECT id FROM license
  WHERE EXISTS (SELECT 1 FROM registration WHERE license_id = license.id AND ends_at <= $1)
    OR EXISTS (SELECT 1 FROM feature_slot WHERE license_id = license.id AND ends_at <= $1)
    OR EXISTS (SELECT 1 FROM denial WHERE license_id = license.id AND denied_at <= $2)
    OR EXISTS (SELECT 1 FROM place_denial WHERE license_id = license.id AND repeated > 0)
    OR EXISTS (SELECT 1 FROM place_denial WHERE license_id = license.id AND denied_at <= $4)
    OR EXISTS (SELECT 1 FROM remembered_answer WHERE answered_at <= $3 AND license_id = license.id)
  ORDER BY id`;

/** Licenses on which the sweeper has something to collect. */
export async function listUntidy(ask: Ask, now: Instant): Promise<readonly LicenseId[]> {
  const starts = [now - DENIAL_WINDOW_MS, now - ANSWER_LIFETIME_MS, now - PLACE_WINDOW_MS];
  const rows = await ask(LIST_UNTIDY, [now, ...starts]);
  return rows.map((row) => licenseId(row.id as number));
}
