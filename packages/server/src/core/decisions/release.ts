import type { Release } from '../command.ts';
import type { CommandModule } from '../command-module.ts';
import { collect, withoutEffect } from '../lending/collect.ts';
import { freeSlot, ON_HELD_SLOT, refuseReturn } from '../lending/free-slot.ts';
import { type Instant, say } from '../nouns/instant.ts';
import { isBorrowed } from '../nouns/registration.ts';
import { refuse } from '../outcome.ts';

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
