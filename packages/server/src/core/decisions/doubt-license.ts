import type { DoubtLicense } from '../command.ts';
import { type CommandModule, ON_LICENSE } from '../command-module.ts';
import { changeLicense } from '../lending/change-license.ts';
import { DAY_MS, earlier } from '../nouns/instant.ts';
import { NO_ASSURANCE } from '../nouns/license.ts';

/** So often, and for so long, the cloud has to say so before the license lends no new slots. */
const DOUBT_CHECKS = 3;
const DOUBT_MS = DAY_MS;

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
    const known = assurance.doubt ?? { since: now, checks: 0, stopsLending: null };
    const since = earlier(known.since, now);
    const checks = known.checks + 1;
    const isLong = checks >= DOUBT_CHECKS && now - since >= DOUBT_MS;
    const stopsLending = known.stopsLending === true || isLong;
    const doubt = { otherId, since, checks, stopsLending };
    const tie = { ...license.tie, assurance: { ...assurance, doubt } };
    const changed = changeLicense(view, { ...license, tie }, { by }, now);
    if (known.stopsLending === stopsLending) return changed;
    const event = { kind: 'license_doubted', otherId, stopsLending, by } as const;
    return { ...changed, events: [...changed.events, event] };
  },
} satisfies CommandModule<DoubtLicense>;
