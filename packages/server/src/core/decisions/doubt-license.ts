import type { DoubtLicense } from '../command.ts';
import { type CommandModule, ON_LICENSE } from '../command-module.ts';
import { changeLicense } from '../lending/change-license.ts';
import { earlier } from '../nouns/instant.ts';
import { isDoubtful, NO_ASSURANCE } from '../nouns/license.ts';

/**
 * The cloud knows the key of the license under another id, for example because a backup of it was restored.
 * Both licenses may be lent then, so if it says that for long enough, this one lends no new slots.
 */
export const doubtLicense = {
  ...ON_LICENSE,
  changesLicense: true,

  decide({ otherId, by }, view, now) {
    const { license } = view;
    const { assurance = NO_ASSURANCE } = license.tie;
    if (isDoubtful(license)) return { outcome: { kind: 'done', count: 0 }, changes: [], events: [] };
    const known = assurance.doubt ?? { since: now, checks: 0 };
    const doubt = { otherId, since: earlier(known.since, now), lastAt: now, checks: known.checks + 1 };
    const doubted = { ...license, tie: { ...license.tie, assurance: { ...assurance, doubt } } };
    const changed = changeLicense(view, doubted, { by }, now);
    const stopsLending = isDoubtful(doubted);
    if (assurance.doubt !== undefined && !stopsLending) return changed;
    return {
      ...changed,
      events: [...changed.events, { kind: 'license_doubted', otherId, stopsLending, by }],
    };
  },
} satisfies CommandModule<DoubtLicense>;
