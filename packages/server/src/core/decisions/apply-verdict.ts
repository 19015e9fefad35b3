import type { ApplyVerdict } from '../command.ts';
import { type CommandModule, ON_LICENSE } from '../command-module.ts';
import { changeLicense, noteCheck } from '../lending/change-license.ts';
import type { Instant } from '../nouns/instant.ts';
import { isSameGrant, type License, NO_ASSURANCE, type Verdict } from '../nouns/license.ts';

/**
 * The vendor's cloud refuses the license, which changes its state and nothing else. A verdict that may be
 * old, or about another license, only counts if the next check says the same.
 */
export const applyVerdict = {
  ...ON_LICENSE,
  changesLicense: true,

  decide({ verdict, proof }, view, now) {
    const { doubt: _, ...known } = view.license.tie.assurance ?? NO_ASSURANCE;
    const judged = withVerdict(view.license, verdict, now);
    const isNews = proof === 'none' && known.unconfirmed !== verdict && !isSameGrant(view.license, judged);
    const assurance = { ...known, isBound: proof === 'bound', unconfirmed: isNews ? verdict : null };
    const license = isNews ? view.license : noteCheck(judged, now);
    const tied = { ...license, tie: { ...license.tie, assurance } };
    return changeLicense(view, tied, { verdict, by: 'cloud' }, now);
  },
} satisfies CommandModule<ApplyVerdict>;

function withVerdict(license: License, verdict: Verdict, now: Instant): License {
  switch (verdict) {
    case 'license_not_enabled':
      return { ...license, enabled: false };
    case 'license_expired': {
      const { validUntil } = license;
      return validUntil !== null && validUntil <= now ? license : { ...license, validUntil: now };
    }
    case 'license_not_active':
    case 'blacklisted':
    case 'device_not_found':
    case 'license_not_found':
      return { ...license, active: false };
  }
}
