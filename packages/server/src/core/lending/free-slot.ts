import type { Recall, Release, Unregister } from '../command.ts';
import { ON_POOL } from '../command-module.ts';
import type { Decision } from '../decision.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';
import { refuseNotHeld, refuseOthers } from '../refusals.ts';
import type { LicenseHead, LicenseView, ViewNeeds } from '../view.ts';
import { type Collected, inUseChange, withoutEffect } from './collect.ts';
import { forgetBorrow, mayHaveBorrows } from './keep-borrows.ts';

/** Defaults for a command that gives back the slot of a user. */
export const ON_HELD_SLOT = {
  ...ON_POOL,
  isReturn: true,
  needs: (_: unknown, { license }: LicenseHead): ViewNeeds => {
    return { endedBorrow: mayHaveBorrows(license), featureSlots: true };
  },
};

/**
 * There is nothing to give back. The user's ended borrow is forgotten all the same: a wrong clock may have
 * ended it, and it must not be restored.
 */
export function refuseReturn(
  command: Unregister | Release | Recall,
  view: LicenseView,
  base: Collected,
): Decision {
  const { license, registration, endedBorrow } = view;
  const refused = withoutEffect(view, base, refuseNotHeld(license, command.user));
  const ended = registration ?? endedBorrow;
  if (ended === null || ended.borrowedUntil === null) return refused;
  if (command.kind === 'unregister' && refuseOthers(ended, command) !== null) return refused;
  return { ...refused, changes: [...refused.changes, ...forgetBorrow(license, command.user)] };
}

/** Frees the slot of a user, together with their feature slots. */
export function freeSlot(view: LicenseView, base: Collected, user: string, event: LicenseEvent): Decision {
  const features = base.heldFeatures.map(({ feature }) => feature);
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [
      ...base.changes,
      ...features.map((feature) => ({ kind: 'remove_feature_slot', feature, user }) as const),
      { kind: 'remove_registration', user },
      ...inUseChange(view, base.storedInUse - 1),
      ...forgetBorrow(view.license, user),
    ],
    events: [
      ...base.events,
      ...features.map((feature) => ({ kind: 'feature_returned', feature, user }) as const),
      event,
    ],
  };
}
