import type { RegisterFeature } from '../command.ts';
import { type CommandModule, ON_POOL } from '../command-module.ts';
import type { Decision } from '../decision.ts';
import { chooseFloating, isShort, resolveFeatureUntil } from '../lending/borrow-until.ts';
import {
  type Collected,
  collect,
  collectedChanges,
  countFeatureInUse,
  listHeldFeatures,
} from '../lending/collect.ts';
import { judgeOf, LENIENT } from '../lending/count-slots.ts';
import { denySlot } from '../lending/deny.ts';
import { forgetBorrow } from '../lending/keep-borrows.ts';
import { refuseSpent } from '../lending/lend-slot.ts';
import { meterOf } from '../lending/meter-need.ts';
import type { Meter } from '../nouns/consumption.ts';
import { type FeatureSlot, type FloatingFeature, featureHeartbeatEnd } from '../nouns/feature-slot.ts';
import { type Instant, later } from '../nouns/instant.ts';
import { joinSlot, type Registration } from '../nouns/registration.ts';
import type { Refused } from '../outcome.ts';
import { isRoomNext, refuseByState, refuseFull, refuseNotHeld, refuseRenewal } from '../refusals.ts';
import { refuseByRules } from '../rules/rules.ts';
import type { LicenseView } from '../view.ts';

/**
 * Lends a slot of a floating feature, or renews it. Its user must hold the license's slot, and it ends with
 * that at the latest; its limit, timeout and borrow are its own.
 */
export const registerFeature = {
  ...ON_POOL,
  isFromClients: true,
  meter: meterOf,

  decide(command, view, now) {
    const base = collect(view, now);
    const held = listHeldFeatures(view, base, now).find((slot) => slot.feature === command.feature) ?? null;
    const loan = chooseLoan(command, view, base, held, now);
    return 'code' in loan
      ? denySlot(command, view, base, loan, now)
      : lendFeature(command, view, base, held, loan, now);
  },
} satisfies CommandModule<RegisterFeature>;

/** What can be lent. `until`: the end of the borrow; `null` for a heartbeat. */
interface Loan {
  /** The user's slot of the license. */
  readonly holder: Registration;
  readonly feature: FloatingFeature;
  readonly until: Instant | null;
  readonly inUse: number;
}

function chooseLoan(
  command: RegisterFeature,
  view: LicenseView,
  base: Collected,
  held: FeatureSlot | null,
  now: Instant,
): Loan | Refused {
  const { license, rules } = view;
  const isRenewal = held !== null && command.until === null;
  const feature =
    (isRenewal ? refuseRenewal(license, now) : refuseByState(license, now)) ??
    refuseByRules(rules, command, license.product, command.feature) ??
    chooseFloating(license, command.feature, now);
  if ('kind' in feature) return feature;
  if (base.held === null) return refuseNotHeld(license, command.user);
  const until = command.until === null ? null : resolveFeatureUntil(command.until, feature, base.held, now);
  if (until !== null && typeof until !== 'number') return until;
  const { code: name, floating } = feature;
  const inUse = countFeatureInUse(view, name);
  const judge = held === null ? judgeOf(command, view, name, now) : LENIENT;
  const limited = judge.refuseByLimit();
  if (limited !== null) return limited;
  if (isShort(floating.slots, inUse + (held === null ? view.kept : 0), held, until)) {
    const nextFreeAt = isRoomNext(floating.slots, inUse, held) ? view.findNextFeatureEnd() : null;
    return refuseFull({ name, slots: floating.slots, inUse, nextFreeAt });
  }
  return (
    judge.refuseByReservation() ?? refuseSpent(command, held) ?? { holder: base.held, feature, until, inUse }
  );
}

function lendFeature(
  { user, instance }: RegisterFeature,
  view: LicenseView,
  base: Collected,
  held: FeatureSlot | null,
  { holder, feature, until, inUse }: Loan,
  now: Instant,
): Decision {
  const borrowedUntil = until ?? held?.borrowedUntil ?? null;
  const timeout = featureHeartbeatEnd(view.license, feature, now);
  const slot: FeatureSlot = {
    feature: feature.code,
    user,
    registeredAt: held?.registeredAt ?? now,
    endsAt: borrowedUntil === null ? timeout : later(timeout, borrowedUntil),
    borrowedUntil,
    programs: joinSlot(held?.programs, instance),
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
      holder: { license: view.license, endsAt: holder.endsAt },
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
