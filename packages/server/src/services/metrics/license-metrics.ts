import { highestTotal, WHOLE_LICENSE } from '../../core/nouns/consumption.ts';
import type { ConsumptionLimits } from '../../core/nouns/feature.ts';
import { DAY_MS, type Instant } from '../../core/nouns/instant.ts';
import { endOf, isUsable } from '../../core/nouns/license.ts';
import type { LicenseRecord } from '../../store/query.ts';
import type { MetricPage } from '../../telemetry/metrics/metric-page.ts';

type PeakOf = (licenseId: number, feature: string) => number;

export function addLicenses(page: MetricPage, records: readonly LicenseRecord[], peakOf: PeakOf): void {
  for (const record of records) {
    addLicense(page, record, peakOf);
    addFeatures(page, record, peakOf);
  }
}

function addLicense(page: MetricPage, record: LicenseRecord, peakOf: PeakOf): void {
  const { license, inUse, borrowed, totals, now } = record;
  const labels = labelsOf(record);
  page.add('berth_license_slots', license.slots, ...labels);
  page.add('berth_license_slots_in_use', inUse, ...labels);
  page.add('berth_license_slots_borrowed', borrowed, ...labels);
  page.add('berth_license_slots_peak', Math.max(inUse, peakOf(license.id, WHOLE_LICENSE)), ...labels);
  page.add('berth_license_usable', isUsable(license, now) ? 1 : 0, ...labels);
  const endsAt = endOf(license, now);
  if (endsAt !== null) page.add('berth_license_expiry_days', daysUntil(endsAt, now), ...labels);
  if (license.type !== 'consumption') return;
  page.add('berth_license_consumption', totals.total, ...labels);
  const left = remainderOf(license.consumption, totals.total);
  if (left !== null) page.add('berth_license_consumption_remaining', left, ...labels);
}

function addFeatures(page: MetricPage, record: LicenseRecord, peakOf: PeakOf): void {
  const { license, totals, featuresBorrowed, now } = record;
  const seen = new Set<string>();
  for (const [index, feature] of license.features.entries()) {
    const code = feature.code.toWellFormed();
    // Of two with the same code, the first one counts; a series may only be there once.
    if (seen.has(code)) continue;
    seen.add(code);
    const { total = 0, inUse = 0 } = totals.features[index] ?? {};
    const labels = [...labelsOf(record), code];
    if (feature.floating !== null) {
      const peak = Math.max(inUse, peakOf(license.id, feature.code));
      page.add('berth_feature_slots', feature.floating.slots, ...labels);
      page.add('berth_feature_slots_in_use', inUse, ...labels);
      page.add('berth_feature_slots_borrowed', featuresBorrowed[index] ?? 0, ...labels);
      page.add('berth_feature_slots_peak', peak, ...labels);
    }
    const { expiresAt } = feature;
    if (expiresAt !== null) page.add('berth_feature_expiry_days', daysUntil(expiresAt, now), ...labels);
    if (feature.type !== 'consumption') continue;
    page.add('berth_feature_consumption', total, ...labels);
    const left = remainderOf(feature.consumption, total);
    if (left !== null) page.add('berth_feature_consumption_remaining', left, ...labels);
  }
}

/** Not the license key, which is a secret. */
function labelsOf({ license }: LicenseRecord): readonly [string, string] {
  return [String(license.id), license.product];
}

/** `null` if there is no limit. */
function remainderOf(limits: ConsumptionLimits, total: number): number | null {
  const highest = highestTotal(limits, { allowOverages: null, maxOverages: null });
  return highest === null ? null : Math.max(0, highest - total);
}

export function daysUntil(at: Instant, now: Instant): number {
  return (at - now) / DAY_MS;
}
