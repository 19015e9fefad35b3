import type { Feature } from './feature.ts';
import { earlier, type Instant, later, MINUTE_MS, plus } from './instant.ts';
import { type License, withinValidity } from './license.ts';
import type { Programs } from './registration.ts';

/** One user holding one slot of a floating feature. It is live while this and the license's slot are. */
export interface FeatureSlot {
  readonly feature: string;
  readonly user: string;
  readonly registeredAt: Instant;
  /** Its own end: the timeout or the end of the borrow, whichever is later. */
  readonly endsAt: Instant;
  readonly borrowedUntil: Instant | null;
  readonly programs: Programs;
}

/** A feature that has slots of its own. */
export type FloatingFeature = Feature & { readonly floating: NonNullable<Feature['floating']> };

export function isFeatureExpired({ expiresAt }: Feature, now: Instant): boolean {
  return expiresAt !== null && now >= expiresAt;
}

/** When a slot of the feature ends that is lent or renewed now. */
export function featureHeartbeatEnd(license: License, feature: FloatingFeature, now: Instant): Instant {
  const timeout = plus(now, feature.floating.timeoutMinutes * MINUTE_MS);
  const valid = withinValidity(license, timeout);
  return feature.expiresAt === null ? valid : earlier(valid, feature.expiresAt);
}

/**
 * The feature slot of a user whose borrow of the license now ends at `until`: its own borrow ends by then.
 * After that it lives on heartbeats, like the license's slot.
 */
export function cutBorrow(slot: FeatureSlot, until: Instant, license: License, now: Instant): FeatureSlot {
  if (slot.borrowedUntil === null || slot.borrowedUntil <= until) return slot;
  const feature = findFeature(license, slot.feature);
  const timeout =
    feature !== undefined && isFloating(feature) ? featureHeartbeatEnd(license, feature, now) : now;
  return { ...slot, borrowedUntil: until, endsAt: later(until, earlier(slot.endsAt, timeout)) };
}

export function findFeature(license: License, code: string): Feature | undefined {
  return license.features.find((feature) => feature.code === code);
}

export function isFloating(feature: Feature): feature is FloatingFeature {
  return feature.floating !== null;
}
