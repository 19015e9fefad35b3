import type { Change, Decision } from '../decision.ts';
import type { Actor } from '../nouns/actor.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';
import { earlier, type Instant, instant } from '../nouns/instant.ts';
import {
  type Certificate,
  type License,
  listDifferences,
  type Verdict,
  withinValidity,
} from '../nouns/license.ts';
import type { LicenseView } from '../view.ts';
import { collect, collectedChanges } from './collect.ts';

const NEVER = instant(Number.MAX_SAFE_INTEGER);

/** Changed facts are recorded as an event; a changed tie to this server is only stored. */
export function changeLicense(
  view: LicenseView,
  license: License,
  origin: { readonly verdict?: Verdict; readonly by: Actor },
  now: Instant,
): Decision {
  const changed = listDifferences(view.license, license);
  const isSame = changed.length === 0 && JSON.stringify(view.license.tie) === JSON.stringify(license.tie);
  if (isSame) return { outcome: { kind: 'done', count: 0 }, changes: [], events: [] };
  const base = collect(view, now);
  const { slots } = license;
  return {
    outcome: { kind: 'done', count: changed.length === 0 ? 0 : 1 },
    changes: [
      ...collectedChanges(view, base),
      { kind: 'put_license', license },
      ...(changed.length === 0 ? [] : endByValidity(license)),
    ],
    events: [
      ...base.events,
      ...(changed.length === 0 ? [] : [{ kind: 'license_changed', changed, slots, ...origin } as const]),
    ],
  };
}

/** The cloud has just answered. Only cloud licenses depend on that. */
export function noteCheck(license: License, now: Instant): License {
  if (license.source !== 'cloud') return license;
  const { restoredAt: _, ...tie } = license.tie;
  return { ...license, tie: { ...tie, checkedAt: now } };
}

/** No slot outlives the license, and no feature slot the feature. */
export function endByValidity(license: License): readonly Change[] {
  const endsBy = withinValidity(license, NEVER);
  const features = license.features.flatMap(({ code, expiresAt }): Change[] => {
    const featureEndsBy = expiresAt === null ? endsBy : earlier(expiresAt, endsBy);
    if (featureEndsBy === NEVER) return [];
    return [{ kind: 'end_feature_slots_by', feature: code, endsBy: featureEndsBy }];
  });
  return endsBy === NEVER ? features : [{ kind: 'end_registrations_by', endsBy }, ...features];
}

export function isSameCertificate({ texts }: Certificate, known: Certificate | undefined): boolean {
  return known !== undefined && texts.join() === known.texts.join();
}

/** The certificate itself is no secret, but long. */
export function certificateEvent({ kid, issuedAt, expiresAt }: Certificate, by: Actor): LicenseEvent {
  return { kind: 'certificate_added', kid, issuedAt, expiresAt, by };
}
