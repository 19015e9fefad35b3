import type { RemoveLicense } from '../command.ts';
import { type CommandModule, ON_LICENSE } from '../command-module.ts';
import type { Change } from '../decision.ts';
import { collect, collectedChanges } from '../lending/collect.ts';
import type { License } from '../nouns/license.ts';

export const removeLicense = {
  ...ON_LICENSE,
  changesLicense: true,

  decide({ by, isGivenBack = false }, view, now) {
    const base = collect(view, now);
    const { product } = view.license;
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [
        ...collectedChanges(view, base),
        ...(isGivenBack ? giveBack(view.license) : []),
        { kind: 'remove_license' },
      ],
      events: [...base.events, { kind: 'license_removed', product, inUse: base.inUse, by }],
    };
  },
} satisfies CommandModule<RemoveLicense>;

/** What brought the license here cannot bring it back. */
function giveBack(license: License): readonly Change[] {
  return [
    { kind: 'put_license', license: { ...license, tie: { ...license.tie, isGivenBack: true } } },
    { kind: 'void_requests', product: license.product },
  ];
}
