import type { ReleaseAllFeatures } from '../command.ts';
import { type CommandModule, ON_LICENSE } from '../command-module.ts';
import { collect, collectedChanges, withoutEffect } from '../lending/collect.ts';

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
