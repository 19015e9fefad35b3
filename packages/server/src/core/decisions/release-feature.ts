import type { ReleaseFeature } from '../command.ts';
import { type CommandModule, ON_POOL } from '../command-module.ts';
import { collect, collectedChanges, listHeldFeatures, withoutEffect } from '../lending/collect.ts';
import { forgetBorrow } from '../lending/keep-borrows.ts';
import { leaveFeature } from '../lending/leave-slot.ts';
import { meterOf } from '../lending/meter-need.ts';
import { findFeature } from '../nouns/feature-slot.ts';
import { refuse } from '../outcome.ts';
import { refuseOthers, refuseUnknownFeature } from '../refusals.ts';

/**
 * The user gives a feature's slot back, or one of their programs leaves it. As with a license's slot, this
 * works in any state of the license.
 */
export const releaseFeature = {
  ...ON_POOL,
  isFromClients: true,
  meter: meterOf,

  decide(command, view, now) {
    const base = collect(view, now);
    const { feature: code, user, instance } = command;
    const feature = findFeature(view.license, code);
    if (feature === undefined) return withoutEffect(view, base, refuseUnknownFeature(view.license, code));
    const held = listHeldFeatures(view, base, now).find((slot) => slot.feature === code);
    if (held === undefined) {
      const message = `"${user}" holds no slot of the feature "${code}".`;
      return withoutEffect(view, base, refuse('floating_feature_device_not_in_use', message));
    }
    const refusal = base.held === null ? null : refuseOthers(base.held, command);
    if (refusal !== null) return withoutEffect(view, base, refusal);
    const collected = collectedChanges(view, base);
    if (instance !== undefined) {
      const { programs, changes, events } = leaveFeature(held, instance, now);
      return {
        outcome: { kind: 'done', count: events.length, programs },
        changes: [...collected, ...changes],
        events: [...base.events, ...events],
      };
    }
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [
        ...collected,
        { kind: 'remove_feature_slot', feature: code, user },
        ...forgetBorrow(view.license, user, code),
      ],
      events: [...base.events, { kind: 'feature_returned', feature: code, user }],
    };
  },
} satisfies CommandModule<ReleaseFeature>;
