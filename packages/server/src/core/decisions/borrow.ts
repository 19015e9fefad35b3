import type { Borrow } from '../command.ts';
import { type CommandModule, ON_POOL } from '../command-module.ts';
import type { Decision } from '../decision.ts';
import { isShort, resolveLicenseUntil } from '../lending/borrow-until.ts';
import { type Collected, collect, countInUse, listHeldFeatures } from '../lending/collect.ts';
import {
  findBorrowRules,
  judgeOf,
  LENIENT,
  latestByRules,
  putFollowed,
  refuseBorrower,
  refuseMoreBorrows,
} from '../lending/count-slots.ts';
import { denySlot } from '../lending/deny.ts';
import { forgetBorrow } from '../lending/keep-borrows.ts';
import { refuseSlot, type SlotRefusal } from '../lending/lend-slot.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';
import { WHOLE_LICENSE } from '../nouns/consumption.ts';
import { cutBorrow } from '../nouns/feature-slot.ts';
import { type Instant, later } from '../nouns/instant.ts';
import { heartbeatEnd } from '../nouns/license.ts';
import { holderFacts, isBorrowed, type Registration, slotOf } from '../nouns/registration.ts';
import { refuseByState } from '../refusals.ts';
import { refuseByRules } from '../rules/rules.ts';
import type { LicenseView } from '../view.ts';

/**
 * Lends a slot that needs no heartbeats until a date. A refusal leaves everything as it was. A later borrow
 * replaces the date, in either direction.
 */
export const borrow = {
  ...ON_POOL,
  isFromClients: true,
  deny: denySlot,

  decide(command, view, now) {
    const base = collect(view, now);
    const until = chooseUntil(command, view, base.held, now);
    const refusal = refuseSlot(command, view, base, typeof until === 'number' ? null : until);
    if (refusal !== null) return denySlot(command, view, base, refusal, now);
    return lendUntil(command, view, base, until as Instant, now);
  },
} satisfies CommandModule<Borrow>;

/** The end of the borrow, or why there is none. */
function chooseUntil(
  command: Borrow,
  view: LicenseView,
  held: Registration | null,
  now: Instant,
): Instant | SlotRefusal {
  const { license, rules } = view;
  const borrowRules = findBorrowRules(view, now);
  const until =
    refuseByState(license, now) ??
    refuseByRules(rules, command, license.product, null) ??
    refuseBorrower(borrowRules, command, view) ??
    resolveLicenseUntil(command.until, license, latestByRules(borrowRules, now), now);
  if (typeof until !== 'number') return until;
  const taken = countInUse(view) + (held === null ? view.kept : 0);
  const judge = held === null ? judgeOf(command, view, null, now) : LENIENT;
  const isNew = held === null || !isBorrowed(held, now);
  return (
    judge.refuseByLimit() ??
    (isShort(license.slots, taken, held, until) ? 'full' : judge.refuseByReservation()) ??
    (isNew ? refuseMoreBorrows(borrowRules, command, view) : null) ??
    until
  );
}

function lendUntil(
  command: Borrow,
  view: LicenseView,
  base: Collected,
  until: Instant,
  now: Instant,
): Decision {
  const { held } = base;
  const registration = slotOf(held ?? command, holderFacts(command, held), {
    registeredAt: held === null ? now : held.registeredAt,
    endsAt: later(until, heartbeatEnd(view.license, now)),
    borrowedUntil: until,
  });
  const added = held === null ? 1 : 0;
  const cut = cutFeatures(view, base, until, now);
  return {
    outcome: { kind: 'granted', license: view.license, registration, inUse: base.inUse + added, now },
    changes: [
      ...base.changes,
      held === null
        ? { kind: 'put_registration', registration, before: null }
        : putFollowed(view, base, held, registration, now),
      { kind: 'set_in_use', inUse: base.storedInUse + added },
      ...forgetBorrow(view.license, registration.user, WHOLE_LICENSE),
      ...cut.map((slot) => ({ kind: 'put_feature_slot', slot, isNew: false }) as const),
    ],
    events: [
      ...base.events,
      ...lendEvents(registration, held),
      ...cut.map(
        ({ feature, user }) => ({ kind: 'feature_borrowed', feature, user, borrowedUntil: until }) as const,
      ),
    ],
  };
}

/** The user's feature borrows that reach beyond the new date, cut to it. */
function cutFeatures(view: LicenseView, base: Collected, until: Instant, now: Instant) {
  return listHeldFeatures(view, base, now).flatMap((slot) => {
    const cut = cutBorrow(slot, until, view.license, now);
    return cut === slot ? [] : [cut];
  });
}

function lendEvents(registration: Registration, held: Registration | null): readonly LicenseEvent[] {
  const { user, host } = registration;
  const borrowed: LicenseEvent = {
    kind: 'slot_borrowed',
    user,
    borrowedUntil: registration.borrowedUntil as Instant,
  };
  return held === null ? [{ kind: 'slot_lent', user, hostname: host.hostname }, borrowed] : [borrowed];
}
