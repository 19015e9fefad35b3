import type { ConsumptionPeriod } from '@berth/protocol/api/consumption-window';
import { type ConsumptionTotals, WHOLE_LICENSE, windowStart } from '../../core/nouns/consumption.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import type { License } from '../../core/nouns/license.ts';
import type { LicenseRecord } from '../query.ts';
import type { PreparedQuery } from './prepared-query.ts';
import { licenseFromRow } from './rows.ts';
import { inEach } from './sql.ts';
import { HAS_ENDED } from './statements.ts';
import type { RowOf } from './tables.ts';

/** Every period has one window that holds `now`. */
const PERIODS = Object.keys({
  always: true,
  daily: true,
  weekly: true,
  monthly: true,
  annually: true,
} satisfies Record<Period, true>) as readonly Period[];

type Period = ConsumptionPeriod | 'always';

const IS_LISTED = 'removed_at IS NULL AND (CAST(:product AS text) IS NULL OR product = :product)';

const LIST_LICENSES = inEach(
  (dialect) => `SELECT license.*,
    in_use - (SELECT count(*) FROM registration
      WHERE license_id = license.id AND ${HAS_ENDED[dialect]}) AS live,
    (SELECT count(*) FROM registration WHERE license_id = license.id AND borrowed_until > :now) AS borrowed
  FROM license WHERE ${IS_LISTED} ORDER BY added_order DESC`,
);

/** Old windows are kept for ever, so only the needed ones are looked up. */
const TOTALS = PERIODS.map(
  (period) => `(SELECT total FROM consumption_total AS counted WHERE counted.license_id = meter.license_id
    AND counted.feature = meter.feature AND window_start = :${period}) AS ${period}`,
);

const LIST_METERS = `SELECT meter.license_id, meter.feature, ${TOTALS.join(', ')},
    (SELECT count(*) FROM feature_slot AS slot JOIN registration AS holder USING (license_id, "user")
     WHERE slot.license_id = meter.license_id AND slot.feature = meter.feature
       AND slot.ends_at > :now AND holder.ends_at > :now) AS slots,
    (SELECT count(*) FROM feature_slot AS slot WHERE slot.license_id = meter.license_id
       AND slot.feature = meter.feature AND borrowed_until > :now AND ends_at > :now) AS borrowed
  FROM license JOIN meter ON meter.license_id = license.id WHERE ${IS_LISTED}`;

type LicenseRow = RowOf<'license'> & { readonly live: number; readonly borrowed: number };
type MeterRow = Pick<RowOf<'meter'>, 'license_id' | 'feature'> & {
  readonly [P in Period]: number | null;
} & { readonly slots: number; readonly borrowed: number };

/** A fixed number of statements, however many licenses there are. */
export function queryLicenses(product: string | null, now: Instant): PreparedQuery<readonly LicenseRecord[]> {
  const starts = PERIODS.map((period) => [period, windowStart(period === 'always' ? null : period, now)]);
  return {
    statements: [
      { sql: LIST_LICENSES, values: { product, now } },
      { sql: LIST_METERS, values: { product, now, ...Object.fromEntries(starts) } },
    ],
    answer([licenses, meters]) {
      const named = (meters as readonly MeterRow[]).map(
        (row) => [nameOf(row.license_id, row.feature), row] as const,
      );
      const byName = new Map(named);
      return (licenses as readonly LicenseRow[]).map((row) => {
        const license = licenseFromRow(row);
        const { live: inUse, borrowed, added_at: addedAt } = row;
        const featuresBorrowed = license.features.map(
          ({ code }) => byName.get(nameOf(license.id, code))?.borrowed ?? 0,
        );
        const totals = totalsOf(license, byName);
        return { license, inUse, borrowed, featuresBorrowed, totals, addedAt, now };
      });
    },
  };
}

/** Half a surrogate pair is stored as the replacement character. */
function nameOf(licenseId: number, feature: string): string {
  return `${licenseId} ${feature.toWellFormed()}`;
}

function totalsOf(license: License, meters: ReadonlyMap<string, MeterRow>): ConsumptionTotals {
  const { id, consumption, features } = license;
  const totalOf = (feature: string, period: ConsumptionPeriod | null) =>
    meters.get(nameOf(id, feature))?.[period ?? 'always'] ?? 0;
  return {
    total: totalOf(WHOLE_LICENSE, consumption.period),
    features: features.map(({ code, floating, consumption: { period } }) => ({
      code,
      total: totalOf(code, period),
      inUse: floating === null ? 0 : (meters.get(nameOf(id, code))?.slots ?? 0),
    })),
  };
}
