import type { RegisterFeature, ReleaseAllFeatures, ReleaseFeature } from '../command.ts';
import type { Decision } from '../decision.ts';
import { refuseBorrowing, resolveUntil } from '../lending/borrow-until.ts';
import { type Collected, collect, collectedChanges, countFeatureInUse } from '../lending/collect.ts';
import { deny } from '../lending/deny.ts';
import { forgetBorrow } from '../lending/keep-borrows.ts';
import type { Meter } from '../nouns/consumption.ts';
import {
  type FeatureSlot,
  type FloatingFeature,
  featureHeartbeatEnd,
  findFeature,
  isFeatureExpired,
  isFloating,
} from '../nouns/feature-slot.ts';
import { earlier, HOUR_MS, type Instant, later, plus } from '../nouns/instant.ts';
import type { License } from '../nouns/license.ts';
import { heldUntil, type Registration } from '../nouns/registration.ts';
import { type Refused, refuse } from '../outcome.ts';
import {
  refuseByState,
  refuseFeatureExpired,
  refuseFull,
  refuseNotHeld,
  refuseOthers,
  refuseRenewal,
  refuseUnknownFeature,
} from '../refusals.ts';
import { refuseByRules } from '../rules/rules.ts';
import type { LicenseView } from '../view.ts';
import { withoutEffect } from './unregister.ts';

/**
 * Lends a slot of a floating feature, or renews it. It takes the license's slot, and ends with it at the
 * latest; its limit, timeout and borrow are its own.
 */
export function decideRegisterFeature(command: RegisterFeature, view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  const request = { command, view, base, now };
  const held = base.heldFeatures.find((slot) => slot.feature === command.feature) ?? null;
  const isRenewal = held !== null && command.until === null;
  const byState = isRenewal ? refuseRenewal(view.license, now) : refuseByState(view.license, now);
  const feature =
    byState ?? refuseByRules(view.rules, command) ?? chooseFloating(view.license, command.feature, now);
  if ('kind' in feature) return denyFeature(request, feature);
  if (base.held === null) return denyFeature(request, refuseNotHeld(view.license, command.user));
  const until = chooseUntil(request, feature, base.held);
  if (until !== null && typeof until !== 'number') return denyFeature(request, until);
  const inUse = countFeatureInUse(view, feature.code);
  if (isShort(feature, inUse, held, until)) {
    const { code: name, floating } = feature;
    const lender = { name, slots: floating.slots, inUse, nextFreeAt: view.featureNextEndsAt };
    return denyFeature(request, refuseFull(lender));
  }
  return lendFeature(request, feature, held, until, inUse);
}

interface Request {
  readonly command: RegisterFeature;
  readonly view: LicenseView;
  readonly base: Collected;
  readonly now: Instant;
}

function denyFeature({ command, view, base, now }: Request, refusal: Refused): Decision {
  const { feature, user, by } = command;
  const denied = { kind: 'slot_denied', feature, user } as const;
  return deny(view, by === undefined ? denied : { ...denied, by }, refusal, base, now);
}

export function chooseFloating(license: License, code: string, now: Instant): FloatingFeature | Refused {
  const feature = findFeature(license, code);
  if (feature === undefined) return refuseUnknownFeature(license, code);
  if (isFeatureExpired(feature, now)) return refuseFeatureExpired(feature);
  if (isFloating(feature)) return feature;
  return refuse('feature_not_floating', `The feature "${code}" has no slots of its own.`);
}

/**
 * Until when the slot is to be borrowed; `null` for a heartbeat. A feature is not borrowed beyond the borrow
 * of its license, or beyond the license's slot where that is not borrowed.
 */
function chooseUntil({ command, now }: Request, feature: FloatingFeature, holder: Registration) {
  if (command.until === null) return null;
  const { canBorrow, maxBorrowHours } = feature.floating;
  if (!canBorrow || maxBorrowHours <= 0) return refuseBorrowing(feature.code);
  const longest = earlier(plus(now, maxBorrowHours * HOUR_MS), heldUntil(holder, now));
  const latest = feature.expiresAt === null ? longest : earlier(longest, feature.expiresAt);
  return resolveUntil(command.until, latest, now);
}

/**
 * As with licenses: while a shrunk feature is over its limit, holders renew, but no borrow starts or grows.
 */
function isShort(
  { floating }: FloatingFeature,
  inUse: number,
  held: FeatureSlot | null,
  until: Instant | null,
) {
  if (held === null) return inUse >= floating.slots;
  const isExtended = until !== null && (held.borrowedUntil === null || until > held.borrowedUntil);
  return inUse > floating.slots && isExtended;
}

function lendFeature(
  { command, view, base, now }: Request,
  feature: FloatingFeature,
  held: FeatureSlot | null,
  until: Instant | null,
  inUse: number,
): Decision {
  const { user } = command;
  const borrowedUntil = until ?? held?.borrowedUntil ?? null;
  const timeout = featureHeartbeatEnd(view.license, feature, now);
  const slot: FeatureSlot = {
    feature: feature.code,
    user,
    registeredAt: held?.registeredAt ?? now,
    endsAt: borrowedUntil === null ? timeout : later(timeout, borrowedUntil),
    borrowedUntil,
  };
  const isNew = held === null;
  const { code } = feature;
  return {
    outcome: {
      kind: 'measured',
      licenseId: view.license.id,
      feature,
      limits: feature.consumption,
      total: (view.meter as Meter).total,
      inUse: inUse + (isNew ? 1 : 0),
      slot,
      now,
    },
    changes: [
      ...collectedChanges(view, base),
      { kind: 'put_feature_slot', slot, isNew },
      ...(until === null ? [] : forgetBorrow(view.license, user, code)),
    ],
    events: [
      ...base.events,
      ...(isNew ? [{ kind: 'feature_lent', feature: code, user } as const] : []),
      ...(until === null
        ? []
        : [{ kind: 'feature_borrowed', feature: code, user, borrowedUntil: until } as const]),
    ],
  };
}

/** The user gives a feature's slot back. Like giving back a license's, it works whatever state that is in. */
export function decideReleaseFeature(command: ReleaseFeature, view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  const { feature: code, user } = command;
  const feature = findFeature(view.license, code);
  if (feature === undefined) return withoutEffect(view, base, refuseUnknownFeature(view.license, code));
  if (!base.heldFeatures.some((slot) => slot.feature === code)) {
    const message = `"${user}" holds no slot of the feature "${code}".`;
    return withoutEffect(view, base, refuse('floating_feature_device_not_in_use', message));
  }
  const refusal = base.held === null ? null : refuseOthers(base.held, command);
  if (refusal !== null) return withoutEffect(view, base, refusal);
  return {
    outcome: { kind: 'done', count: 1 },
    changes: [
      ...collectedChanges(view, base),
      { kind: 'remove_feature_slot', feature: code, user },
      ...forgetBorrow(view.license, user, code),
    ],
    events: [...base.events, { kind: 'feature_returned', feature: code, user }],
  };
}

export function decideReleaseAllFeatures(
  { by }: ReleaseAllFeatures,
  view: LicenseView,
  now: Instant,
): Decision {
  const base = collect(view, now);
  const count = view.featureSlotCount;
  if (count === 0) return withoutEffect(view, base, { kind: 'done', count: 0 });
  return {
    outcome: { kind: 'done', count },
    changes: [...collectedChanges(view, base), { kind: 'remove_all_feature_slots' }],
    events: [...base.events, { kind: 'all_features_returned', count, by }],
  };
}
