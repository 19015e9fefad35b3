import type { ReleaseAll, ReleaseAllFeatures } from '../command.ts';
import { type CommandModule, ON_LICENSE } from '../command-module.ts';
import { collect, collectedChanges, withoutEffect } from '../lending/collect.ts';
import { mayHaveBorrows } from '../lending/keep-borrows.ts';

export const releaseAll = {
  ...ON_LICENSE,

  decide({ by }, view, now) {
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
      events: [...base.events, { kind: 'all_slots_returned', count: base.inUse, by }],
    };
  },
} satisfies CommandModule<ReleaseAll>;

export const releaseAllFeatures = {
  ...ON_LICENSE,

  decide({ by }, view, now) {
    const base = collect(view, now);
    const count = view.countFeatureSlots();
    if (count === 0) return withoutEffect(view, base, { kind: 'done', count: 0 });
    return {
      outcome: { kind: 'done', count },
      changes: [...collectedChanges(view, base), { kind: 'remove_all_feature_slots' }],
      events: [...base.events, { kind: 'all_features_returned', count, by }],
    };
  },
} satisfies CommandModule<ReleaseAllFeatures>;
