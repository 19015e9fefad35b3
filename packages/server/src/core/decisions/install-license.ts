import type { ApplyVerdict, FileFacts, InstallLicense, RemoveLicense } from '../command.ts';
import type { Change, Decision } from '../decision.ts';
import { type RebasedAll, rebaseAll } from '../lending/cloud-total.ts';
import { collect, collectedChanges } from '../lending/collect.ts';
import type { Actor } from '../nouns/actor.ts';
import type { Meter } from '../nouns/consumption.ts';
import { earlier, type Instant, instant } from '../nouns/instant.ts';
import {
  type Assurance,
  isSameGrant,
  type License,
  listDifferences,
  type Verdict,
  withinValidity,
} from '../nouns/license.ts';
import type { LicenseView } from '../view.ts';

const NEVER = instant(Number.MAX_SAFE_INTEGER);

/**
 * A license that the server did not hold. It may have held it once: then its slots, totals and records are
 * still there, and go on.
 */
export function decideAddLicense(command: InstallLicense, view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  const rebased = rebaseAll(command.license, command.counted, seedable(command, view), now);
  const license = tieNew(command, view, rebased, now);
  const { product, slots } = license;
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [
      { kind: 'put_license', license },
      ...collectedChanges(view, base),
      ...endByValidity(license),
      ...rebased.changes,
      ...answerRequest(command.file),
    ],
    events: [...base.events, { kind: 'license_added', product, slots, by: command.by }, ...rebased.events],
  };
}

/**
 * A license that the server holds gets new facts. Nobody is thrown out when its slots shrink; but no slot is
 * held longer than the new validity and grace allow.
 */
export function decideChangeLicense(command: InstallLicense, view: LicenseView, now: Instant): Decision {
  const { by } = command;
  const rebased = rebaseAll(command.license, command.counted, seedable(command, view), now);
  const changed = changeLicense(view, tieNew(command, view, rebased, now), { by }, now);
  return {
    ...changed,
    changes: [...changed.changes, ...rebased.changes, ...answerRequest(command.file, view.license)],
    events: [...changed.events, ...rebased.events],
  };
}

/**
 * The vendor's cloud refuses the license: its state follows, its other facts stay as they were. A verdict
 * that may be old, or about another license, waits: it counts when the next check says the same.
 */
export function decideApplyVerdict(command: ApplyVerdict, view: LicenseView, now: Instant): Decision {
  const { verdict, proof } = command;
  const known = view.license.tie.assurance ?? NO_ASSURANCE;
  const judged = applyVerdict(view.license, verdict, now);
  const isNews = proof === 'none' && known.unconfirmed !== verdict && !isSameGrant(view.license, judged);
  const assurance = { ...known, isBound: proof === 'bound', unconfirmed: isNews ? verdict : null };
  const license = isNews ? view.license : noteCheck(judged, now);
  const tied = { ...license, tie: { ...license.tie, assurance } };
  return changeLicense(view, tied, { verdict, by: 'cloud' }, now);
}

const NO_ASSURANCE: Assurance = { isBound: false, unconfirmed: null, keptTotal: false };

function applyVerdict(license: License, verdict: Verdict, now: Instant): License {
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

export function decideRemoveLicense(command: RemoveLicense, view: LicenseView, now: Instant): Decision {
  const { by, isGivenBack = false } = command;
  const base = collect(view, now);
  const { product } = view.license;
  const license = { ...view.license, tie: { ...view.license.tie, isGivenBack } };
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [
      ...collectedChanges(view, base),
      ...(isGivenBack
        ? ([
            { kind: 'put_license', license },
            { kind: 'void_requests', product },
          ] as const)
        : []),
      { kind: 'remove_license' },
    ],
    events: [...base.events, { kind: 'license_removed', product, inUse: base.inUse, by }],
  };
}

/** The license with what this server knows about how it got here. */
function tieNew(
  command: InstallLicense,
  view: LicenseView,
  { keptTotal }: RebasedAll,
  now: Instant,
): License {
  const license = noteFile(noteCheck(command.license, now), command.file, view.license.tie);
  const { assurance } = license.tie;
  return assurance === undefined
    ? license
    : { ...license, tie: { ...license.tie, assurance: { ...assurance, keptTotal } } };
}

/** The cloud has just spoken about it. Other licenses do not depend on that. */
function noteCheck(license: License, now: Instant): License {
  return license.source === 'cloud' ? { ...license, tie: { ...license.tie, checkedAt: now } } : license;
}

/** A refresh answers no request: the license still is the answer to the one that brought it here. */
function noteFile(license: License, file: FileFacts | undefined, known: License['tie'] | null): License {
  const { fileAt, requestId, confirmationId } = known ?? license.tie;
  if (file === undefined) return { ...license, tie: { ...license.tie, fileAt, requestId, confirmationId } };
  const tie = {
    ...license.tie,
    fileAt: file.issuedAt,
    requestId: file.requestId ?? requestId,
    confirmationId: file.confirmationId ?? confirmationId,
  };
  return { ...license, tie };
}

/**
 * A file tells what others have counted before; of what was counted here, this server knows more than a file
 * that was written somewhere else.
 */
function seedable(command: InstallLicense, view: LicenseView): LicenseView {
  if (command.file === undefined) return view;
  const isUntouched = ({ total, pending, reported }: Meter) => total === 0 && pending === 0 && reported === 0;
  return { ...view, meters: view.meters.filter(isUntouched) };
}

/** The same file again answers nothing anew. */
function answerRequest(file: FileFacts | undefined, known: License | null = null): readonly Change[] {
  if (file === undefined || file.requestId === null || known?.tie.requestId === file.requestId) return [];
  return [{ kind: 'answer_request', requestId: file.requestId }];
}

/** The facts that changed are told; how the license is tied to this server is only kept. */
function changeLicense(
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

/** Of the license as a whole, and of its features: those end with it at the latest, and some on their own. */
function endByValidity(license: License): readonly Change[] {
  const endsBy = withinValidity(license, NEVER);
  const features = license.features.flatMap(({ code, expiresAt }): Change[] => {
    const featureEndsBy = expiresAt === null ? endsBy : earlier(expiresAt, endsBy);
    if (featureEndsBy === NEVER) return [];
    return [{ kind: 'end_feature_slots_by', feature: code, endsBy: featureEndsBy }];
  });
  return endsBy === NEVER ? features : [{ kind: 'end_registrations_by', endsBy }, ...features];
}
