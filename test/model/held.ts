import type { Instant } from '@berth/server/core/nouns/instant';
import type { Place } from './naive-rules.ts';

/** A slot of a license or of a feature, in the model. */
export interface Held {
  endsAt: Instant;
  borrowedUntil: Instant | null;
}

/** A slot of a license, where its holder was last, and where it is counted. */
export interface HeldSlot extends Held {
  readonly at: Place;
  readonly counted: Place;
}

export function later(a: Instant, b: Instant): Instant {
  return a > b ? a : b;
}

/** Nothing is held beyond the limit. */
export function cutHeld(held: Held, limit: Instant | null): void {
  held.endsAt = cut(held.endsAt, limit);
  if (held.borrowedUntil !== null) held.borrowedUntil = cut(held.borrowedUntil, limit);
}

export function cut(at: Instant, limit: Instant | null): Instant {
  return limit !== null && limit < at ? limit : at;
}
