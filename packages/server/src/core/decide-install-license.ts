import { collect, inUseChange } from './collect.ts';
import type { InstallLicense } from './command.ts';
import type { Change, Decision } from './decision.ts';
import { type Instant, instant } from './instant.ts';
import { type License, withinValidity } from './license.ts';
import type { LicenseView } from './view.ts';

const NEVER = instant(Number.MAX_SAFE_INTEGER);

/** A license that the server did not hold yet. */
export function decideAddLicense({ license, by }: InstallLicense): Decision {
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [{ kind: 'put_license', license }],
    events: [{ kind: 'license_added', product: license.product, slots: license.slots, by }],
  };
}

/**
 * A license that the server holds gets new facts. Nobody is thrown out when its slots shrink; but no slot is
 * held longer than the new validity and grace allow.
 */
export function decideChangeLicense(command: InstallLicense, view: LicenseView, now: Instant): Decision {
  const { license, by } = command;
  const changed = changedFacts(view.license, license);
  if (changed.length === 0) return { outcome: { kind: 'done', count: 0 }, changes: [], events: [] };
  const base = collect(view, now);
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [
      ...base.changes,
      ...inUseChange(view, base.storedInUse),
      { kind: 'put_license', license },
      ...endByValidity(license),
    ],
    events: [...base.events, { kind: 'license_changed', changed, slots: license.slots, by }],
  };
}

function changedFacts(before: License, after: License): string[] {
  const names = Object.keys(after) as (keyof License)[];
  return names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
}

/** Of the license as a whole, and of each feature that ends on its own. */
function endByValidity(license: License): readonly Change[] {
  const features = license.features.flatMap(({ code, expiresAt }): Change[] =>
    expiresAt === null ? [] : [{ kind: 'end_feature_slots_by', feature: code, endsBy: expiresAt }],
  );
  if (license.validUntil === null) return features;
  return [{ kind: 'end_registrations_by', endsBy: withinValidity(license, NEVER) }, ...features];
}
