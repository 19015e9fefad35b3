import { windowStartMillis } from '@berth/protocol/api/consumption-window';
import { WHOLE_LICENSE } from './decision.ts';
import { findFeature } from './license.ts';
import type { Terms } from './terms.ts';

/** The start of the current counting window of the license or a feature. */
export function countingWindowStart(terms: Terms, feature: string, now: number): number {
  const limits = feature === WHOLE_LICENSE ? terms.consumption : findFeature(terms, feature)?.consumption;
  return windowStartMillis(limits?.period ?? null, now);
}

/** Everything with a consumption limit: the license itself, then its features. */
export function listCounted(terms: Terms): readonly string[] {
  return [WHOLE_LICENSE, ...terms.features.map(({ code }) => code)];
}
