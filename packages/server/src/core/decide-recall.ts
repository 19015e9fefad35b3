import { collect } from './collect.ts';
import type { Recall } from './command.ts';
import { freeSlot, withoutEffect } from './decide-unregister.ts';
import { type Decision, refuse } from './decision.ts';
import { HOUR_MS, type Instant, plus } from './instant.ts';
import type { License } from './license.ts';
import { refuseNotHeld } from './refusals.ts';
import { isBorrowed } from './registration.ts';
import type { LicenseView } from './view.ts';

/**
 * An administrator frees a borrowed slot at once. Whoever borrowed it may go on using it offline until its
 * date, so recalls are limited: within one longest borrow, no more than the license has slots.
 */
export function decideRecall(command: Recall, view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  const { license } = view;
  const { user, by } = command;
  if (base.held === null) return withoutEffect(view, base, refuseNotHeld(license, user));
  if (!isBorrowed(base.held, now)) {
    const message = `The slot of "${user}" is not borrowed. Release it instead.`;
    return withoutEffect(view, base, refuse('slot_not_borrowed', message));
  }
  if (view.recalls >= license.slots) {
    return withoutEffect(view, base, refuseTooMany(license, view.recalls));
  }
  const borrowedUntil = base.held.borrowedUntil as Instant;
  return freeSlot(view, base, user, { kind: 'slot_recalled', user, borrowedUntil, by }, [
    { kind: 'add_recall', user, borrowedUntil },
  ]);
}

/** Recalls later than this count against the limit. */
export function recallWindowStart(license: License, now: Instant): Instant {
  return plus(now, -license.maxBorrowHours * HOUR_MS);
}

function refuseTooMany(license: License, recalls: number) {
  const message =
    `${recalls} borrowed slots of "${license.product}" were recalled within the last ` +
    `${license.maxBorrowHours} hours, as many as the license has slots. ` +
    'Wait until the older borrows have ended.';
  return refuse('recall_limit_reached', message, { recalls, slots: license.slots });
}
