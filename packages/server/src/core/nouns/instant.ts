/** A point in time: milliseconds since 1970 in UTC. Branded, so that a duration cannot pass for one. */
export type Instant = number & { readonly brand: 'Instant' };

export const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

export function instant(millis: number): Instant {
  return millis as Instant;
}

export function plus(at: Instant, millis: number): Instant {
  return (at + millis) as Instant;
}

export function earlier(a: Instant, b: Instant): Instant {
  return a < b ? a : b;
}

export function later(a: Instant, b: Instant): Instant {
  return a > b ? a : b;
}

/** For messages; the wire has its own format. */
export function say(at: Instant): string {
  return new Date(at).toISOString();
}

/** The start of the minute, hour or day that an instant is in. */
export function bucketStart(at: Instant, grainMs: number): Instant {
  return instant(at - (at % grainMs));
}
