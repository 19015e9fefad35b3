import { WHOLE_LICENSE, windowStart } from '../nouns/consumption.ts';
import type { Feature } from '../nouns/feature.ts';
import { findFeature } from '../nouns/feature-slot.ts';
import type { Instant } from '../nouns/instant.ts';
import type { License } from '../nouns/license.ts';
import type { MeterNeed } from '../view.ts';

/** About a license, or one of its features. */
interface AboutFeature {
  readonly feature: string | null;
}

export function meterOf({ feature: code }: AboutFeature, license: License, now: Instant): MeterNeed | null {
  const consumption = code === null ? license.consumption : findFeature(license, code)?.consumption;
  return consumption === undefined ? null : needOf({ code: code ?? WHOLE_LICENSE, consumption }, now);
}

/** A feature that the vendor took away may still have consumption to report. */
export function reportedMeterOf(command: AboutFeature, license: License, now: Instant): MeterNeed {
  const feature = command.feature ?? WHOLE_LICENSE;
  return meterOf(command, license, now) ?? { feature, windowStart: windowStart(null, now) };
}

/** The meters of a license and of all its features. */
export function metersOf(license: License, now: Instant): readonly MeterNeed[] {
  const own = { code: WHOLE_LICENSE, consumption: license.consumption };
  return [own, ...license.features].map((counted) => needOf(counted, now));
}

function needOf({ code, consumption }: Pick<Feature, 'code' | 'consumption'>, now: Instant): MeterNeed {
  return { feature: code, windowStart: windowStart(consumption.period, now) };
}
