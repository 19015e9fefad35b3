import type { Unregister } from '../command.ts';
import type { CommandModule } from '../command-module.ts';
import { collect, withoutEffect } from '../lending/collect.ts';
import { freeSlot, ON_HELD_SLOT, refuseReturn } from '../lending/free-slot.ts';
import { refuseOthers } from '../refusals.ts';

/** The user gives the slot back, borrowed or not. This also works on expired and disabled licenses. */
export const unregister = {
  ...ON_HELD_SLOT,
  isFromClients: true,

  decide(command, view, now) {
    const base = collect(view, now);
    if (base.held === null) return refuseReturn(command, view, base);
    const refusal = refuseOthers(base.held, command);
    if (refusal !== null) return withoutEffect(view, base, refusal);
    return freeSlot(view, base, { kind: 'slot_returned', user: command.user, by: null }, now);
  },
} satisfies CommandModule<Unregister>;
