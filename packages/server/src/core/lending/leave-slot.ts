import type { Change, Decision } from '../decision.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';
import type { FeatureSlot } from '../nouns/feature-slot.ts';
import type { Instant } from '../nouns/instant.ts';
import {
  countPrograms,
  isAbandoned,
  isBorrowed,
  leaveSlot,
  type Registration,
} from '../nouns/registration.ts';
import type { LicenseView } from '../view.ts';
import { type Collected, collectedChanges, listHeldFeatures } from './collect.ts';
import { freeSlot } from './free-slot.ts';
import { keepBorrows } from './keep-borrows.ts';

/**
 * One program of the user leaves the slot, and the slots of features that it used. Each is free if it was the
 * last one. A borrow needs no program: it ends by its date, or when the user gives the slot back. Programs
 * that the slot does not know change nothing, so a repeated request does no harm.
 */
export function leaveLicense(
  view: LicenseView,
  base: Collected,
  held: Registration,
  instance: string,
  now: Instant,
): Decision {
  const left = withoutProgram(held, instance, now);
  if (left === null) {
    const { user } = held;
    const borrows = keepBorrows(view.license, [held], listHeldFeatures(view, base, now));
    const freed = freeSlot(view, base, { kind: 'slot_returned', user, by: null }, now, borrows);
    return { ...freed, outcome: { kind: 'done', count: 1, programs: 0 } };
  }
  const features = listHeldFeatures(view, base, now).map((slot) => leaveFeature(slot, instance, now));
  return {
    outcome: { kind: 'done', count: 0, programs: countPrograms(left.programs) },
    changes: [
      ...collectedChanges(view, base),
      ...(left === held ? [] : [{ kind: 'put_registration', registration: left, before: held } as const]),
      ...features.flatMap(({ changes }) => changes),
    ],
    events: [...base.events, ...features.flatMap(({ events }) => events)],
  };
}

interface FeatureLeft {
  readonly programs: number;
  readonly changes: readonly Change[];
  readonly events: readonly LicenseEvent[];
}

/** The same for the slot of a feature alone. */
export function leaveFeature(held: FeatureSlot, instance: string, now: Instant): FeatureLeft {
  const { feature, user } = held;
  const left = withoutProgram(held, instance, now);
  if (left === null) {
    return {
      programs: 0,
      changes: [{ kind: 'remove_feature_slot', feature, user }],
      events: [{ kind: 'feature_returned', feature, user }],
    };
  }
  const changes = left === held ? [] : [{ kind: 'put_feature_slot', slot: left, isNew: false } as const];
  return { programs: countPrograms(left.programs), changes, events: [] };
}

/** `null`: the slot is free. The same slot if it does not know the program. */
function withoutProgram<S extends Registration | FeatureSlot>(
  slot: S,
  instance: string,
  now: Instant,
): S | null {
  const programs = leaveSlot(slot.programs, instance);
  if (programs === slot.programs) return slot;
  return isAbandoned(programs) && !isBorrowed(slot, now) ? null : { ...slot, programs };
}
