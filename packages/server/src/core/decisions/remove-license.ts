import type { RemoveLicense } from '../command.ts';
import { type CommandModule, ON_LICENSE } from '../command-module.ts';
import type { Change } from '../decision.ts';
import { collect, collectedChanges } from '../lending/collect.ts';
import type { License } from '../nouns/license.ts';

export const removeLicense = {
  ...ON_LICENSE,
  changesLicense: true,
  /** A license that was only removed here can still be given back. */
  mayBeRemoved: ({ isGivenBack = false }) => isGivenBack,

  decide({ by, isGivenBack = false }, view, now) {
    const { product, tie } = view.license;
    if (isGivenBack && tie.isGivenBack)
      return { outcome: { kind: 'done', count: 0 }, changes: [], events: [] };
    const base = collect(view, now);
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [
        ...collectedChanges(view, base),
        ...(isGivenBack || tie.isGivenBack ? giveBack(view.license) : []),
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
    // A cloud is asked, not answered by a file.
    ...(license.source === 'cloud' ? [] : [{ kind: 'void_requests', product: license.product } as const]),
  ];
}
