import type { Recall, Release, Unregister } from '../command.ts';
import { ON_POOL } from '../command-module.ts';
import type { Change, Decision } from '../decision.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';
import type { Instant } from '../nouns/instant.ts';
import { type Registration, severalPrograms } from '../nouns/registration.ts';
import { refuseNotHeld, refuseOthers } from '../refusals.ts';
import type { LicenseView } from '../view.ts';
import { type Collected, inUseChange, listHeldFeatures, withoutEffect } from './collect.ts';
import { forgetBorrow, mayHaveBorrows } from './keep-borrows.ts';

/** Defaults for a command that gives back the slot of a user. */
export const ON_HELD_SLOT = {
  ...ON_POOL,
  isReturn: true,
};

/**
 * There is nothing to give back. The user's ended borrow is forgotten all the same: a wrong clock may have
 * ended it, and it must not be restored. A program that leaves says nothing about borrows.
 */
export function refuseReturn(
  command: Unregister | Release | Recall,
  view: LicenseView,
  base: Collected,
): Decision {
  const { license, registration } = view;
  const refused = withoutEffect(view, base, refuseNotHeld(license, command.user));
  const ended = registration ?? (mayHaveBorrows(license) ? view.findEndedBorrow() : null);
  if (ended === null || ended.borrowedUntil === null) return refused;
  const isUnregister = command.kind === 'unregister';
  if (isUnregister && (command.instance !== undefined || refuseOthers(ended, command) !== null))
    return refused;
  return { ...refused, changes: [...refused.changes, ...forgetBorrow(license, command.user)] };
}

type SlotEnded = Extract<LicenseEvent, { kind: 'slot_returned' | 'slot_recalled' }>;

/** Frees the slot of a user, together with their feature slots. `borrows`: what becomes of their borrows. */
export function freeSlot(
  view: LicenseView,
  base: Collected,
  event: SlotEnded,
  now: Instant,
  borrows: readonly Change[] = forgetBorrow(view.license, event.user),
): Decision {
  const { user } = event;
  const features = listHeldFeatures(view, base, now).map(({ feature }) => feature);
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [
      ...base.changes,
      ...features.map((feature) => ({ kind: 'remove_feature_slot', feature, user }) as const),
      { kind: 'remove_registration', registration: base.held as Registration },
      ...inUseChange(view, base.storedInUse - 1),
      ...borrows,
    ],
    events: [
      ...base.events,
      ...features.map((feature) => ({ kind: 'feature_returned', feature, user }) as const),
      { ...event, ...severalPrograms((base.held as Registration).programs) },
    ],
  };
}
