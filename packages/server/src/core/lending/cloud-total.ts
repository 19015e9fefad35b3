import type { ConsumptionPeriod } from '@berth/protocol/api/consumption-window';
import { DATE_TOLERANCE_MS } from '@berth/protocol/cloud/cloud-authorization';
import type { CloudCounts } from '../command.ts';
import type { Change } from '../decision.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';
import { LARGEST_AMOUNT, type Meter, WHOLE_LICENSE, windowStart } from '../nouns/consumption.ts';
import { indexByCode } from '../nouns/feature.ts';
import { HOUR_MS, type Instant, plus } from '../nouns/instant.ts';
import type { License } from '../nouns/license.ts';
import type { LicenseView, Report } from '../view.ts';
import { metersOf } from './meter-need.ts';

/**
 * The vendor's cloud owns the totals, because several servers may count on one license. A total is what the
 * cloud had counted when nothing was on its way there, plus what was counted here and not reported since.
 * While a report is on its way, the cloud's number may or may not include it, so nothing changes.
 */
export interface Rebased {
  readonly changes: readonly Change[];
  readonly events: readonly LicenseEvent[];
}

export interface RebasedAll extends Rebased {
  /** Some total was lower than one before, and was ignored. */
  readonly keptTotal: boolean;
}

/** An unchanged total is written again after this time: its date decides its window. */
const KNOWN_FOR_MS = HOUR_MS / 2;

const NOTHING: Rebased = { changes: [], events: [] };

/**
 * Takes over the cloud's totals, of the license and of its features. A lower total than before may be a
 * replayed answer: unless it certainly is not, or an administrator accepts it, the known one stays until its
 * window is over. The held license defines that window, so that an old answer cannot choose how it is judged.
 * If the new one has another period, the known total is carried over.
 */
export function rebaseAll(
  license: License,
  counted: CloudCounts | undefined,
  view: LicenseView,
  now: Instant,
  mayTake: (meter: Meter) => boolean,
): RebasedAll {
  if (counted === undefined) return { ...NOTHING, keptTotal: false };
  const { askedAt, takesLower, acceptedBy } = counted;
  const mayBeOld = !takesLower && acceptedBy === undefined;
  const [heldPeriod, newPeriod] = [listPeriods(view.license), listPeriods(license)];
  const judgingPeriod = mayBeOld ? heldPeriod : newPeriod;
  const totals = listTotals(counted);
  const underWay = new Set(listUnderWay(view).map(({ feature }) => feature));
  const rebasable = view
    .listMeters(metersOf(license, now))
    .filter(mayTake)
    .filter(({ feature }) => !underWay.has(feature))
    .filter((meter) => !isOutdated(meter, askedAt, now))
    .filter(({ feature }) => isOneWindow(judgingPeriod(feature), askedAt, now))
    .flatMap((meter) => {
      const total = totals.get(meter.feature);
      if (total === undefined) return [];
      const known = mayBeOld ? totalInWindow(meter, heldPeriod(meter.feature), now) : null;
      return [{ meter, total: Math.max(total, known ?? total), isKept: known !== null && total < known }];
    });
  const isSamePeriod = ({ feature }: Meter) => newPeriod(feature) === heldPeriod(feature);
  const parts = rebasable
    .filter(({ meter, isKept }) => !isKept || !isSamePeriod(meter))
    .map(({ meter, total }) => rebase(meter, total, now));
  const by = acceptedBy === undefined ? {} : { by: acceptedBy };
  return {
    changes: parts.flatMap(({ changes }) => changes),
    events: parts.flatMap(({ events }) => events).map((event) => ({ ...event, ...by })),
    keptTotal: rebasable.some(({ isKept }) => isKept),
  };
}

/** The cloud's last total in the window of `now`; `null`: none that can be compared. */
export function knownTotal(license: License, meter: Meter, now: Instant): number | null {
  return totalInWindow(meter, periodOf(license, meter.feature), now);
}

function totalInWindow(
  { cloudTotal, cloudAt }: Meter,
  period: ConsumptionPeriod | null,
  now: Instant,
): number | null {
  if (cloudTotal === null || cloudAt === null) return null;
  return isOneWindow(period, cloudAt, now) ? cloudTotal : null;
}

/**
 * Returns whether a newer total came in since the cloud was asked, for example because another server settled
 * a report. After the clock was set back a total may seem to come from the future; that does not count.
 */
function isOutdated({ cloudAt }: Meter, askedAt: Instant, now: Instant): boolean {
  return cloudAt !== null && askedAt < cloudAt && cloudAt <= now;
}

/** Reports that the cloud may count any moment. Uncertain ones are not sent any more. */
export function listUnderWay(view: LicenseView): readonly Report[] {
  return view.listReports().filter(({ uncertainAt }) => uncertainAt === null);
}

/** What the cloud has counted, by feature. */
function listTotals({ total, features }: CloudCounts): ReadonlyMap<string, number> {
  const totals = [{ code: WHOLE_LICENSE, total }, ...features].toReversed();
  return new Map(totals.map((one) => [one.code, one.total]));
}

/** How often the total of the license, or of a feature, is reset. */
export function periodOf(license: License, feature: string): ConsumptionPeriod | null {
  if (feature === WHOLE_LICENSE) return license.consumption.period;
  return license.features.find(({ code }) => code === feature)?.consumption.period ?? null;
}

/** The same for many lookups. */
function listPeriods(license: License): (feature: string) => ConsumptionPeriod | null {
  const features = indexByCode(license.features);
  return (feature) =>
    feature === WHOLE_LICENSE
      ? license.consumption.period
      : (features.get(feature)?.consumption.period ?? null);
}

/**
 * Returns whether the cloud's number certainly belongs to our window. Its clock may be off by as much as it
 * tolerates, so its number is ignored right before and after a reset.
 */
export function isOneWindow(period: ConsumptionPeriod | null, askedAt: Instant, now: Instant): boolean {
  const first = windowStart(period, plus(askedAt, -DATE_TOLERANCE_MS));
  return first === windowStart(period, plus(now, DATE_TOLERANCE_MS));
}

/** Puts the cloud's total under the meter, whose total changes only if others have counted. */
export function rebase(meter: Meter, cloudTotal: number, now: Instant): Rebased {
  const total = Math.min(Math.max(cloudTotal + meter.pending, 0), LARGEST_AMOUNT);
  const isKnown = cloudTotal === meter.cloudTotal && meter.cloudAt !== null;
  if (total === meter.total && isKnown && now - meter.cloudAt < KNOWN_FOR_MS) return NOTHING;
  const { storedInUse: _, ...rest } = meter;
  const feature = meter.feature === WHOLE_LICENSE ? null : meter.feature;
  return {
    changes: [{ kind: 'put_meter', meter: { ...rest, total, cloudTotal, cloudAt: now } }],
    events: total === meter.total ? [] : [{ kind: 'total_corrected', feature, before: meter.total, total }],
  };
}
