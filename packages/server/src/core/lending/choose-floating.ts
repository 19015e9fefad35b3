import { type FloatingFeature, findFeature, isFeatureExpired, isFloating } from '../nouns/feature-slot.ts';
import type { Instant } from '../nouns/instant.ts';
import type { License } from '../nouns/license.ts';
import { type Refused, refuse } from '../outcome.ts';
import { refuseFeatureExpired, refuseUnknownFeature } from '../refusals.ts';

/** The feature if it has slots to lend now, or why it has none. */
export function chooseFloating(license: License, code: string, now: Instant): FloatingFeature | Refused {
  const feature = findFeature(license, code);
  if (feature === undefined) return refuseUnknownFeature(license, code);
  if (isFeatureExpired(feature, now)) return refuseFeatureExpired(feature);
  if (isFloating(feature)) return feature;
  return refuse('feature_not_floating', `The feature "${code}" has no slots of its own.`);
}
