import type { Instant } from '@berth/server/core/nouns/instant';
import type { Place } from './naive-rules.ts';

/** A slot of a license or of a feature, in the model. */
export interface Held {
  endsAt: Instant;
  borrowedUntil: Instant | null;
  /** Who uses it, in the order in which they came; all without a name are one, ''. */
  readonly programs: Set<string>;
}

/** A slot of a license, where its holder was last, and where it is counted. */
export interface HeldSlot extends Held {
  readonly at: Place;
  readonly counted: Place;
}

/** More that have a name take the place of the first. */
const MAX_NAMES = 32;

/** The programs of a slot after a request of one of them. */
export function withProgram(programs: Iterable<string> = [], instance: string | null): Set<string> {
  const joined = new Set(programs).add(instance ?? '');
  const named = [...joined].filter((name) => name !== '');
  if (named.length > MAX_NAMES) joined.delete(named[0] as string);
  return joined;
}

/** What a program leaves behind: whether the slot is free, and the answer. */
export function leaveHeld({ programs, borrowedUntil }: Held, instance: string, now: Instant) {
  const isFree = programs.delete(instance) && programs.size === 0 && (borrowedUntil ?? 0) <= now;
  const answer = { kind: 'done', count: isFree ? 1 : 0, programs: programs.size } as const;
  return { isFree, answer };
}

/** What a return without a name does. */
export const GIVEN_BACK = { isFree: true, answer: { kind: 'done', count: 1 } } as const;

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
