import {
  curveStart,
  cutBucket,
  type SlotBucket,
  type SlotPoint,
  type SlotState,
  slotPoints,
  slotTotals,
} from '../../../core/history/slot-points.ts';
import { findFeature } from '../../../core/nouns/feature-slot.ts';
import { bucketStart, earlier, type Instant, MINUTE_MS } from '../../../core/nouns/instant.ts';
import type { License, LicenseId } from '../../../core/nouns/license.ts';
import type { ListSlotHistory, SlotSeries, WhichLicenses } from '../../history-query.ts';
import { isAmong } from '../among.ts';
import type { PreparedQuery, Statement } from '../prepared-query.ts';
import { type Dialect, inEach, lesser } from '../sql.ts';
import { HAS_ENDED } from '../statements.ts';
import type { RowOf } from '../tables.ts';
import { type LicenseNames, licenseValues, querySubjects } from './license-names.ts';

export function isOfLicense({ licenseId, among }: WhichLicenses): string {
  if (licenseId !== null) return 'license_id = CAST(:licenseId AS bigint)';
  return among === undefined ? 'license_id > 0' : `license_id > 0 AND ${isAmong('license_id')}`;
}

export function isOfFeature(feature: string | null): string {
  return feature === null ? "feature >= ''" : 'feature = CAST(:feature AS text)';
}

type Scope = Pick<ListSlotHistory, 'licenseId' | 'among' | 'feature'>;

/** Slots with their ends; one of a feature ends with its holder's slot at the latest. */
const HELD = {
  registration: `SELECT license_id, '' AS feature, ends_at, borrowed_until FROM registration`,
  feature_slot: `SELECT license_id, feature, slot.borrowed_until,
      ${lesser('slot.ends_at', 'holder.ends_at')} AS ends_at
    FROM feature_slot AS slot JOIN registration AS holder USING (license_id, "user")`,
} as const;

/** Slots and borrows that have ended, and that nobody has collected yet, end in the history at their time. */
function endedOf(table: keyof typeof HELD, scope: Scope, dialect: Dialect): readonly string[] {
  const where = `${isOfLicense(scope)} AND ${isOfFeature(scope.feature)}`;
  const select = (at: string, counts: string, held: string = HELD[table]) =>
    `SELECT license_id, feature, ${MINUTE_MS}, ${at} - ${at} % ${MINUTE_MS}, ${counts}
     FROM (${held}) AS held WHERE ${where} AND ${at} <= :now`;
  const ended = table === 'registration' ? `${HELD.registration} WHERE ${HAS_ENDED[dialect]}` : HELD[table];
  return [
    select('ends_at', `0, 1, 0, 0, -1, -(ends_at % ${MINUTE_MS}), 0`, ended),
    `${select(lesser('borrowed_until', 'ends_at'), '0, 0, 0, 0, 0, 0, -1')}
     AND borrowed_until IS NOT NULL`,
  ];
}

/** All changes, as if everything had been collected. */
function recordedSlots(scope: Scope, dialect: Dialect): string {
  const { feature } = scope;
  const arms = [
    `SELECT license_id, feature, grain, at, grants, returns, denials, peak, net, late, borrowed
     FROM history_slot WHERE ${isOfLicense(scope)} AND ${isOfFeature(feature)}`,
    ...(feature === null || feature === '' ? endedOf('registration', scope, dialect) : []),
    ...(feature === '' ? [] : endedOf('feature_slot', scope, dialect)),
  ];
  return `(${arms.join(' UNION ALL ')}) AS recorded`;
}

const SUMS = ['grants', 'returns', 'denials', 'net', 'borrowed']
  .map((column) => `CAST(sum(${column}) AS bigint) AS ${column}`)
  .join(', ');

interface BucketRow extends Omit<RowOf<'history_slot'>, 'at'> {
  readonly bucket: Instant;
}

type StateRow = Pick<RowOf<'history_slot'>, 'license_id' | 'feature' | 'net' | 'borrowed'>;

type Curves = Omit<ListSlotHistory, 'kind'> & { readonly limit?: number };

/** The buckets of some series, in order of time. */
export function selectBuckets(query: Curves, now: Instant): Statement {
  const { since, until, feature, stepMs, limit } = query;
  const scope = { ...licenseValues(query), ...(feature !== null && { feature }) };
  return {
    sql: inEach(
      (dialect) => `SELECT license_id, feature, at - at % CAST(:stepMs AS bigint) AS bucket,
        max(grain) AS grain, ${SUMS},
        max(peak) AS peak, CAST(sum(late + net * (at % CAST(:stepMs AS bigint))) AS bigint) AS late
      FROM ${recordedSlots(query, dialect)} WHERE at >= :since AND at < :until
      GROUP BY license_id, feature, bucket ORDER BY license_id, feature, bucket
      ${limit === undefined ? '' : 'LIMIT :limit'}`,
    ),
    values: { ...scope, now, since, until, stepMs, ...(limit !== undefined && { limit }) },
  };
}

/** Their states before. */
export function selectStates(query: Omit<Curves, 'until' | 'stepMs'>, now: Instant): Statement {
  const { since, feature } = query;
  const scope = { ...licenseValues(query), ...(feature !== null && { feature }) };
  return {
    sql: inEach(
      (dialect) => `SELECT license_id, feature, CAST(sum(net) AS bigint) AS net,
        CAST(sum(borrowed) AS bigint) AS borrowed
      FROM ${recordedSlots(query, dialect)} WHERE at < :since GROUP BY license_id, feature`,
    ),
    values: { ...scope, now, since },
  };
}

export const NOTHING_YET: SlotState = { inUse: 0, borrowed: 0 };

/** Of the rows that `selectBuckets` and `selectStates` find. */
export class SlotCurves {
  readonly #buckets: ReadonlyMap<string, readonly BucketRow[]>;
  readonly #states: ReadonlyMap<string, SlotState>;
  readonly #stepMs: number;

  constructor(buckets: readonly unknown[], states: readonly unknown[], stepMs: number) {
    this.#buckets = Map.groupBy(buckets as readonly BucketRow[], seriesOf);
    this.#states = new Map(
      (states as readonly StateRow[]).map((row) => {
        return [seriesOf(row), { inUse: row.net, borrowed: row.borrowed }] as const;
      }),
    );
    this.#stepMs = stepMs;
  }

  /** The state before the first bucket; `null` if nothing was recorded until then. */
  findStart(licenseId: LicenseId, feature: string): SlotState | null {
    return this.#states.get(seriesOf({ license_id: licenseId, feature })) ?? null;
  }

  bucketsOf(licenseId: LicenseId, feature: string): readonly SlotBucket[] {
    const rows = this.#buckets.get(seriesOf({ license_id: licenseId, feature })) ?? [];
    return rows.map(({ bucket: at, grain, ...counts }) => ({
      ...counts,
      at,
      lengthMs: Math.max(grain, this.#stepMs),
    }));
  }
}

function seriesOf({ license_id, feature }: Pick<StateRow, 'license_id' | 'feature'>): string {
  return `${license_id} ${feature}`;
}

export function querySlotHistory(query: ListSlotHistory, now: Instant): PreparedQuery<readonly SlotSeries[]> {
  const subjects = querySubjects(query);
  return {
    statements: [...subjects.statements, selectBuckets(query, now), selectStates(query, now)],
    answer([licenses, buckets, states]) {
      const curves = new SlotCurves(buckets ?? [], states ?? [], query.stepMs);
      return listSeries(query, subjects.answer([licenses ?? []]), curves, now);
    },
  };
}

function listSeries(query: ListSlotHistory, book: LicenseNames, curves: SlotCurves, now: Instant) {
  const until = earlier(query.until, now);
  return book.list().flatMap(({ license, addedAt, isRemoved }) =>
    listFeatures(license, query.feature).flatMap((feature): SlotSeries[] => {
      const before = curves.findStart(license.id, feature);
      const start = before ?? NOTHING_YET;
      const recorded = curves.bucketsOf(license.id, feature);
      if (isRemoved && recorded.length === 0 && start.inUse === 0) return [];
      const slots = feature === '' ? license.slots : (findFeature(license, feature)?.floating?.slots ?? 0);
      const begin = curveStart(query.since, bucketStart(addedAt, MINUTE_MS), recorded[0], before !== null);
      const beginsAt = earlier(begin, until);
      const buckets = recorded.map((bucket) => cutBucket(bucket, beginsAt));
      const points: readonly SlotPoint[] = slotPoints(start, buckets, beginsAt, now);
      const totals = slotTotals(start, buckets, beginsAt, until);
      return [{ ...book.subjectOf(license.id, feature), slots, beginsAt, totals, points }];
    }),
  );
}

function listFeatures({ features }: License, wanted: string | null): readonly string[] {
  if (wanted === '') return [''];
  const floating = features.filter((feature) => feature.floating !== null).map(({ code }) => code);
  return wanted === null ? ['', ...floating] : floating.filter((code) => code === wanted);
}
