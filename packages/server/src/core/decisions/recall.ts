import type { Recall } from '../command.ts';
import type { Decision } from '../decision.ts';
import { collect } from '../lending/collect.ts';
import type { Instant } from '../nouns/instant.ts';
import { isBorrowed } from '../nouns/registration.ts';
import { refuse } from '../outcome.ts';
import type { LicenseView } from '../view.ts';
import { freeSlot, refuseReturn, withoutEffect } from './unregister.ts';

/**
 * An administrator frees a borrowed slot at once. Whoever borrowed it may go on using it offline until its
 * date, which is why the record says when that is. Nothing limits recalls: `unregister` ends borrows early,
 * too, and cleaning up after somebody who borrowed everything must not wait.
 */
export function decideRecall(command: Recall, view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  const { user, by } = command;
  if (base.held === null) return refuseReturn(command, view, base);
  if (!isBorrowed(base.held, now)) {
    const message = `The slot of "${user}" is not borrowed. Release it instead.`;
    return withoutEffect(view, base, refuse('slot_not_borrowed', message));
  }
  const borrowedUntil = base.held.borrowedUntil as Instant;
  return freeSlot(view, base, user, { kind: 'slot_recalled', user, borrowedUntil, by });
}
