import type { Recall } from '../command.ts';
import type { CommandModule } from '../command-module.ts';
import { collect, withoutEffect } from '../lending/collect.ts';
import { freeSlot, ON_HELD_SLOT, refuseReturn } from '../lending/free-slot.ts';
import type { Instant } from '../nouns/instant.ts';
import { isBorrowed } from '../nouns/registration.ts';
import { refuse } from '../outcome.ts';

/**
 * An administrator frees a borrowed slot at once. The borrower may keep using it offline until its date, so
 * the record has that date. Nothing limits recalls: `unregister` ends borrows early too, and an
 * operator must be able to free the slots of a user who borrowed all of them at once.
 */
export const recall = {
  ...ON_HELD_SLOT,

  decide(command, view, now) {
    const base = collect(view, now);
    const { user, by } = command;
    if (base.held === null) return refuseReturn(command, view, base);
    if (!isBorrowed(base.held, now)) {
      const message = `The slot of "${user}" is not borrowed. Release it instead.`;
      return withoutEffect(view, base, refuse('slot_not_borrowed', message));
    }
    const borrowedUntil = base.held.borrowedUntil as Instant;
    return freeSlot(view, base, { kind: 'slot_recalled', user, borrowedUntil, by }, now);
  },
} satisfies CommandModule<Recall>;
