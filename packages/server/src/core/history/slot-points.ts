import { type Instant, later, plus } from '../nouns/instant.ts';

/** What was recorded in one bucket. */
export interface SlotBucket {
  readonly at: Instant;
  /** How long it is: longer than asked for where the history was thinned out. */
  readonly lengthMs: number;
  readonly grants: number;
  readonly returns: number;
  readonly denials: number;
  /** The most in use after a grant; 0 if there was none. */
  readonly peak: number;
  /** By how much the number in use changed. */
  readonly net: number;
  /** The sum of each change times its distance from the start. */
  readonly late: number;
  /** By how much the number of borrowed slots changed. */
  readonly borrowed: number;
}

/** In use and borrowed before the first bucket. */
export interface SlotState {
  readonly inUse: number;
  readonly borrowed: number;
}

export interface SlotPoint extends SlotState, SlotTotals {
  readonly at: Instant;
}

/**
 * When a curve begins: time before the license was added is no time without use. If something was recorded
 * earlier, the license had been there before, and was added again.
 */
export function curveStart(
  since: Instant,
  addedAt: Instant,
  first: SlotBucket | undefined,
  hasEarlier: boolean,
): Instant {
  const wasThere = hasEarlier || (first !== undefined && first.at + first.lengthMs <= addedAt);
  return wasThere ? since : later(since, addedAt);
}

/** The part of a bucket from `start` on, before which nothing is recorded. */
export function cutBucket(bucket: SlotBucket, start: Instant): SlotBucket {
  const cutMs = start - bucket.at;
  if (cutMs <= 0) return bucket;
  const { net, late, lengthMs } = bucket;
  return { ...bucket, at: start, late: late - net * cutMs, lengthMs: lengthMs - cutMs };
}

/**
 * The curve of a license or feature. Where nothing changed there is no point: the values of the last one go
 * on. The first point is the state at `since`. The average of a bucket that is not over is that until `now`.
 */
export function slotPoints(
  start: SlotState,
  buckets: readonly SlotBucket[],
  since: Instant,
  now: Instant,
): readonly SlotPoint[] {
  const points: SlotPoint[] = [];
  let state = start;
  if (buckets[0]?.at !== since) points.push(restingPoint(state, since));
  for (const bucket of buckets) {
    const point = pointOf(state, bucket, now);
    points.push(point);
    state = point;
  }
  return points;
}

function restingPoint({ inUse, borrowed }: SlotState, at: Instant): SlotPoint {
  return { at, inUse, average: inUse, peak: inUse, borrowed, grants: 0, returns: 0, denials: 0 };
}

function pointOf(start: SlotState, bucket: SlotBucket, now: Instant): SlotPoint {
  const { at, grants, returns, denials } = bucket;
  const inUse = start.inUse + bucket.net;
  const lengthMs = Math.min(bucket.lengthMs, now - at);
  return {
    at,
    inUse,
    average: lengthMs > 0 ? inUse - bucket.late / lengthMs : inUse,
    peak: Math.max(start.inUse, bucket.peak),
    borrowed: start.borrowed + bucket.borrowed,
    grants,
    returns,
    denials,
  };
}

/** What a series adds up to. */
export interface SlotTotals {
  readonly average: number;
  readonly peak: number;
  readonly grants: number;
  /** Given back or expired. */
  readonly returns: number;
  readonly denials: number;
}

export function slotTotals(
  start: SlotState,
  buckets: readonly SlotBucket[],
  since: Instant,
  until: Instant,
): SlotTotals {
  const sum = (count: (bucket: SlotBucket) => number) =>
    buckets.reduce((total, bucket) => total + count(bucket), 0);
  // Each change counts for the time from then on.
  const changed = sum(({ net, at, late }) => net * (until - at) - late);
  return {
    average: until > since ? start.inUse + changed / (until - since) : start.inUse,
    peak: buckets.reduce((most, { peak }) => Math.max(most, peak), start.inUse),
    grants: sum(({ grants }) => grants),
    returns: sum(({ returns }) => returns),
    denials: sum(({ denials }) => denials),
  };
}

/** A stretch of time with the most slots in use during it. */
export interface Stretch {
  readonly from: Instant;
  /** Excluded. */
  readonly to: Instant;
  readonly peak: number;
  readonly grants: number;
}

/** The curve as stretches without gaps from `since` to `until`. What was in use counts as granted first. */
export function stretchesOf(
  start: SlotState,
  buckets: readonly SlotBucket[],
  since: Instant,
  until: Instant,
): readonly Stretch[] {
  const stretches: Stretch[] = [];
  let { inUse } = start;
  let from = since;
  const add = (to: Instant, peak: number, grants: number) => {
    if (to <= from) return;
    stretches.push({ from, to, peak, grants: from === since ? grants + start.inUse : grants });
    from = to;
  };
  for (const [index, bucket] of buckets.entries()) {
    add(bucket.at, inUse, 0);
    const nextAt = buckets[index + 1]?.at ?? until;
    const end = Math.min(plus(bucket.at, bucket.lengthMs), nextAt, until) as Instant;
    add(end, Math.max(inUse, bucket.peak), bucket.grants);
    inUse += bucket.net;
  }
  add(until, inUse, 0);
  return stretches;
}
