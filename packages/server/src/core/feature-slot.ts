import type { Feature } from './feature.ts';
import { earlier, type Instant, MINUTE_MS, plus } from './instant.ts';
import { type License, withinValidity } from './license.ts';

/** One user holding one slot of a floating feature. It is live while this and the license's slot are. */
export interface FeatureSlot {
  readonly feature: string;
  readonly user: string;
  readonly registeredAt: Instant;
  /** The feature's own end: its timeout or the end of its borrow, the later. */
  readonly endsAt: Instant;
  readonly borrowedUntil: Instant | null;
}

/** A feature that has slots of its own. */
export type FloatingFeature = Feature & { readonly floating: NonNullable<Feature['floating']> };

export function isFeatureExpired({ expiresAt }: Feature, now: Instant): boolean {
  return expiresAt !== null && now >= expiresAt;
}

/** Until when a slot of the feature lives that is lent or renewed now. */
export function featureHeartbeatEnd(license: License, feature: FloatingFeature, now: Instant): Instant {
  const timeout = plus(now, feature.floating.timeoutMinutes * MINUTE_MS);
  const valid = withinValidity(license, timeout);
  return feature.expiresAt === null ? valid : earlier(valid, feature.expiresAt);
}

export function findFeature(license: License, code: string): Feature | undefined {
  return license.features.find((feature) => feature.code === code);
}

export function isFloating(feature: Feature): feature is FloatingFeature {
  return feature.floating !== null;
}
