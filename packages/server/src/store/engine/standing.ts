import { type Standing, WHOLE_LICENSE, windowEnd, windowStart } from '../../core/nouns/consumption.ts';
import type { ConsumptionLimits } from '../../core/nouns/feature.ts';
import type { Instant } from '../../core/nouns/instant.ts';
import type { License } from '../../core/nouns/license.ts';
import { countLive } from './load/load-view.ts';
import { type LoadedLicense, mayHaveFeatureSlots } from './loaded-licenses.ts';
import type { Statements } from './statements.ts';

/**
 * What was counted of a license and its features. Returns the same object while nothing changes, so a
 * heartbeat costs nothing here, and callers can cache what they make of it.
 */
export function standingOf(statements: Statements, entry: LoadedLicense, now: Instant): Standing {
  const kept = entry.standing;
  const isKept =
    kept !== null && kept.license === entry.license && kept.metersVersion === entry.meters.version;
  if (isKept && (kept.endsAt === null || now < kept.endsAt)) return kept.standing;
  const standing = makeStanding(statements, entry, now);
  const { license, meters } = entry;
  entry.standing = { standing, license, metersVersion: meters.version, endsAt: firstWindowEnd(license, now) };
  return standing;
}

function makeStanding(statements: Statements, entry: LoadedLicense, now: Instant): Standing {
  const { license, meters } = entry;
  const isBehind = hasEnded(statements, entry, now);
  const read = (feature: string, { period }: ConsumptionLimits) =>
    meters.get(statements, { feature, windowStart: windowStart(period, now) });
  return {
    total: read(WHOLE_LICENSE, license.consumption).total,
    features: license.features.map(({ code, consumption, floating }) => {
      const { total, storedInUse } = read(code, consumption);
      if (floating === null) return { code, total, inUse: 0 };
      return { code, total, inUse: isBehind ? countLive(statements, license.id, code, now) : storedInUse };
    }),
  };
}

/** Returns whether so many slots ended at once that some are still stored and counted. */
function hasEnded(statements: Statements, entry: LoadedLicense, now: Instant): boolean {
  if (!mayHaveFeatureSlots(entry)) return false;
  const { id } = entry.license;
  const ends = [statements.feature_slot.findEnd(id), statements.registration.findEnd(id)];
  return ends.some((end) => end !== null && end <= now);
}

/** When the first of the totals is reset. */
function firstWindowEnd(license: License, now: Instant): Instant | null {
  const limits = [license.consumption, ...license.features.map((feature) => feature.consumption)];
  const ends = limits.map(({ period }) => windowEnd(period, now)).filter((end) => end !== null);
  return ends.length === 0 ? null : (Math.min(...ends) as Instant);
}
