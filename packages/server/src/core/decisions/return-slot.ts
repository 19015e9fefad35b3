import type { Recall, Release, Unregister } from '../command.ts';
import type { CommandModule } from '../command-module.ts';
import { collect, withoutEffect } from '../lending/collect.ts';
import { freeSlot, ON_HELD_SLOT, refuseReturn } from '../lending/free-slot.ts';
import { leaveLicense } from '../lending/leave-slot.ts';
import { type Instant, say } from '../nouns/instant.ts';
import { isBorrowed } from '../nouns/registration.ts';
import { refuse } from '../outcome.ts';
import { refuseOthers } from '../refusals.ts';

/**
 * The user gives the slot back, borrowed or not, or one of their programs leaves it. This also works on
 * expired and disabled licenses.
 */
export const unregister = {
  ...ON_HELD_SLOT,
  isFromClients: true,

  decide(command, view, now) {
    const base = collect(view, now);
    if (base.held === null) return refuseReturn(command, view, base);
    const refusal = refuseOthers(base.held, command);
    if (refusal !== null) return withoutEffect(view, base, refusal);
    const { user, instance } = command;
    if (instance !== undefined) return leaveLicense(view, base, base.held, instance, now);
    return freeSlot(view, base, { kind: 'slot_returned', user, by: null }, now);
  },
} satisfies CommandModule<Unregister>;

/** An administrator gives the slot back for the user. A borrowed slot must be recalled. */
export const release = {
  ...ON_HELD_SLOT,

  decide(command, view, now) {
    const base = collect(view, now);
    const { user, by } = command;
    if (base.held === null) return refuseReturn(command, view, base);
    if (isBorrowed(base.held, now)) {
      const until = base.held.borrowedUntil as Instant;
      const message = `"${user}" has borrowed the slot until ${say(until)}. Recall it instead.`;
      return withoutEffect(view, base, refuse('slot_is_borrowed', message, { borrowedUntil: until }));
    }
    return freeSlot(view, base, { kind: 'slot_returned', user, by }, now);
  },
} satisfies CommandModule<Release>;

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
