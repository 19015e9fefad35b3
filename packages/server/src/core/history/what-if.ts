import { type Instant, MINUTE_MS } from '../nouns/instant.ts';
import type { Stretch } from './slot-points.ts';

/** A record of requests that found no free slot. */
interface DeniedRecord {
  /** Identifies the user; those who are not named count as one. */
  readonly who: string;
  readonly firstAt: Instant;
  readonly lastAt: Instant;
}

/** How it would have gone with so many slots. */
interface WhatIfPoint {
  readonly slots: number;
  readonly denials: number;
  readonly waitingMs: number;
}

export interface WhatIf {
  /** Denied requests without their retries. */
  readonly asked: number;
  /** The smallest number of slots with which there are no denials. */
  readonly enough: number;
  readonly curve: readonly WhatIfPoint[];
}

/** Most points of a curve. */
const MAX_POINTS = 60;

/**
 * What would have happened with another number of slots. Time is counted in whole minutes.
 *
 * 1. *Use.* `use(m)` is the most slots that were in use at once in the minute `m`. Where the history was
 *    thinned out, it is that of the whole bucket.
 * 2. *Requests.* Each record of denials without a free slot stands for a request in the minute of its first
 *    denial, and one in the minute of its last. In order of time, and at the same minute in order of users, a
 *    request of a user is a retry, and left out, if it is less than the median duration `d` after the last
 *    request of that user that was not. A request is *patient* until the minute of its last retry, included.
 * 3. *Served.* With `n` slots, the requests are tried in this order. A request in the minute `m` is served if
 *    `use(m)` plus the earlier requests that were served in one of the minutes `m-d+1 … m` is less than `n`.
 *    It then holds a slot for the minutes `m … m+d-1`. Otherwise it is denied.
 * 4. *Grants that there would not have been.* In each minute, or bucket where the history was thinned out, as
 *    many grants as its use exceeds `n` are denied, at most all of them, in its first minute. Slots in use at
 *    the start are grants of the first minute. Such a request is patient for `d` minutes.
 * 5. *Waiting.* `load(m)` is `use(m)` plus the served requests that hold a slot in `m`. A denied request of
 *    the minute `m` waits until the first minute after `m` whose load is less than `n`, but no longer than it
 *    is patient, nor beyond the end.
 */
export function whatIf(
  stretches: readonly Stretch[],
  records: readonly DeniedRecord[],
  durationMinutes: number,
  slots: number,
): WhatIf {
  const spans = stretches.map(toSpan).filter(({ from, to }) => to > from);
  const end = spans.at(-1)?.to ?? 0;
  const requests = listRequests(records, durationMinutes).filter(({ minute }) => minute < end);
  const replay = (n: number) => replayWith(n, spans, requests, durationMinutes);
  const enough = countEnough(spans, requests, durationMinutes);
  const curve = chooseSlots(Math.max(slots, enough), [slots, enough]).map(replay);
  return { asked: requests.length, enough, curve };
}

/** A stretch in whole minutes. */
interface Span {
  readonly from: number;
  readonly to: number;
  readonly peak: number;
  readonly grants: number;
}

function toSpan({ from, to, peak, grants }: Stretch): Span {
  return { from: Math.floor(from / MINUTE_MS), to: Math.ceil(to / MINUTE_MS), peak, grants };
}

interface Request {
  readonly minute: number;
  /** For how many minutes its user kept asking. */
  patience: number;
}

/** All requests that are no retries. */
function listRequests(records: readonly DeniedRecord[], durationMinutes: number): readonly Request[] {
  const all = records.flatMap(({ who, firstAt, lastAt }) => [
    { who, minute: Math.floor(firstAt / MINUTE_MS) },
    { who, minute: Math.floor(lastAt / MINUTE_MS) },
  ]);
  all.sort((a, b) => a.minute - b.minute || (a.who < b.who ? -1 : 1));
  const last = new Map<string, Request>();
  return all.flatMap(({ who, minute }) => {
    const before = last.get(who);
    if (before !== undefined && minute - before.minute < durationMinutes) {
      before.patience = minute - before.minute + 1;
      return [];
    }
    const request = { minute, patience: 1 };
    last.set(who, request);
    return [request];
  });
}

/** All grants and requests are served if nowhere more slots are needed. */
function countEnough(spans: readonly Span[], requests: readonly Request[], durationMinutes: number): number {
  let enough = 0;
  let oldest = 0;
  let next = 0;
  for (const { to, peak, grants } of spans) {
    if (grants > 0) enough = Math.max(enough, peak);
    for (; next < requests.length && minuteOf(requests, next) < to; next++) {
      while (minuteOf(requests, oldest) <= minuteOf(requests, next) - durationMinutes) oldest += 1;
      enough = Math.max(enough, peak + next - oldest + 1);
    }
  }
  return enough;
}

function minuteOf(requests: readonly Request[], index: number): number {
  return (requests[index] as Request).minute;
}

/** How many requests of a minute are denied. */
interface Denied extends Readonly<Request> {
  readonly count: number;
}

/** All numbers of slots up to the one without denials; if there are very many, some of them. */
function chooseSlots(most: number, always: readonly number[]): readonly number[] {
  const step = Math.max(1, Math.ceil(most / MAX_POINTS));
  const chosen = new Set(always);
  for (let n = step; n < most; n += step) chosen.add(n);
  return [...chosen].sort((a, b) => a - b);
}

function replayWith(
  n: number,
  spans: readonly Span[],
  requests: readonly Request[],
  durationMinutes: number,
): WhatIfPoint {
  const served: number[] = [];
  const denied: Denied[] = [];
  let oldest = 0;
  let next = 0;
  for (const { from, to, peak, grants } of spans) {
    const lost = Math.min(grants, Math.max(0, peak - n));
    if (lost > 0) denied.push({ minute: from, count: lost, patience: durationMinutes });
    for (; next < requests.length && minuteOf(requests, next) < to; next++) {
      const { minute, patience } = requests[next] as Request;
      while (oldest < served.length && (served[oldest] as number) <= minute - durationMinutes) oldest += 1;
      if (peak + served.length - oldest < n) served.push(minute);
      else denied.push({ minute, count: 1, patience });
    }
  }
  denied.sort((a, b) => a.minute - b.minute);
  const waited = countWaiting(n, spans, served, denied, durationMinutes);
  const denials = denied.reduce((sum, { count }) => sum + count, 0);
  return { slots: n, denials, waitingMs: waited * MINUTE_MS };
}

/** Goes back from the end, and knows the next minute in which a slot is free. */
function countWaiting(
  n: number,
  spans: readonly Span[],
  served: readonly number[],
  denied: readonly Denied[],
  durationMinutes: number,
): number {
  let free = spans.at(-1)?.to ?? 0;
  let waited = 0;
  let index = denied.length - 1;
  for (const { from, to, peak } of pieces(spans, served, durationMinutes)) {
    // A minute's own load does not matter to its denials: they wait for a later one.
    const isFree = peak < n;
    for (; index >= 0 && (denied[index]?.minute ?? 0) >= from; index--) {
      const { minute, count, patience } = denied[index] as Denied;
      const freeAt = isFree && minute + 1 < to ? minute + 1 : free;
      waited += count * Math.min(freeAt - minute, patience);
    }
    if (isFree) free = from;
  }
  return waited;
}

/** The load in pieces of equal load, the last first. */
function* pieces(
  spans: readonly Span[],
  served: readonly number[],
  durationMinutes: number,
): Generator<Span> {
  let newest = served.length - 1;
  let ending = newest;
  for (let i = spans.length - 1; i >= 0; i--) {
    const span = spans[i] as Span;
    let to = span.to;
    while (to > span.from) {
      while (ending >= 0 && (served[ending] as number) + durationMinutes >= to) ending -= 1;
      while (newest >= 0 && (served[newest] as number) >= to) newest -= 1;
      const begins = newest > ending ? (served[newest] as number) : span.from;
      const ends = ending >= 0 ? (served[ending] as number) + durationMinutes : span.from;
      const from = Math.max(span.from, begins, ends);
      yield { from, to, peak: span.peak + newest - ending, grants: 0 };
      to = from;
    }
  }
}
