import type { Recall, Release, ReleaseAll, Unregister } from '../command.ts';
import type { Decision } from '../decision.ts';
import { type Collected, collect, collectedChanges, inUseChange } from '../lending/collect.ts';
import { forgetBorrow, mayHaveBorrows } from '../lending/keep-borrows.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';
import { type Instant, say } from '../nouns/instant.ts';
import { isBorrowed } from '../nouns/registration.ts';
import { type Outcome, refuse } from '../outcome.ts';
import { refuseNotHeld, refuseOthers } from '../refusals.ts';
import type { LicenseView } from '../view.ts';

/** The user gives the slot back, borrowed or not. It works on expired and disabled licenses too. */
export function decideUnregister(command: Unregister, view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  if (base.held === null) return refuseReturn(command, view, base);
  const refusal = refuseOthers(base.held, command);
  if (refusal !== null) return withoutEffect(view, base, refusal);
  return freeSlot(view, base, command.user, { kind: 'slot_returned', user: command.user, by: null });
}

/** An administrator gives the slot back for the user. A borrowed slot takes a recall. */
export function decideRelease(command: Release, view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  const { user, by } = command;
  if (base.held === null) return refuseReturn(command, view, base);
  if (isBorrowed(base.held, now)) {
    const until = base.held.borrowedUntil as Instant;
    const message = `"${user}" has borrowed the slot until ${say(until)}. Recall it instead.`;
    return withoutEffect(view, base, refuse('slot_is_borrowed', message, { borrowedUntil: until }));
  }
  return freeSlot(view, base, user, { kind: 'slot_returned', user, by });
}

export function decideReleaseAll(command: ReleaseAll, view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  const forgotten = mayHaveBorrows(view.license) ? [{ kind: 'forget_all_borrows' } as const] : [];
  if (base.inUse === 0) {
    const nothing = withoutEffect(view, base, { kind: 'done', count: 0 });
    return { ...nothing, changes: [...nothing.changes, ...forgotten] };
  }
  return {
    outcome: { kind: 'done', count: base.inUse },
    changes: [
      ...base.changes,
      { kind: 'remove_all_feature_slots' },
      { kind: 'remove_live_registrations' },
      { kind: 'set_in_use', inUse: base.storedInUse - base.inUse },
      ...forgotten,
    ],
    events: [...base.events, { kind: 'all_slots_returned', count: base.inUse, by: command.by }],
  };
}

/**
 * There is nothing to give back. If the user's borrow has ended, perhaps by a wrong clock, it is given back
 * all the same: it must not return.
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

/** Takes the slot from the user and counts it as free; the user's feature slots go with it. */
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

/** An answer that changes nothing but what had ended anyway. */
export function withoutEffect(view: LicenseView, base: Collected, outcome: Outcome): Decision {
  return { outcome, changes: collectedChanges(view, base), events: base.events };
}
