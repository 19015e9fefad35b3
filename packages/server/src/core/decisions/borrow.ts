import type { Borrow } from '../command.ts';
import type { Decision } from '../decision.ts';
import { refuseCrowd } from '../lending/address-limits.ts';
import { refuseBorrowing, resolveUntil } from '../lending/borrow-until.ts';
import { type Collected, collect } from '../lending/collect.ts';
import { denySlot } from '../lending/deny.ts';
import { forgetBorrow } from '../lending/keep-borrows.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';
import { WHOLE_LICENSE } from '../nouns/consumption.ts';
import { cutBorrow } from '../nouns/feature-slot.ts';
import { type Instant, later } from '../nouns/instant.ts';
import { allowsBorrowing, heartbeatEnd, latestBorrowUntil } from '../nouns/license.ts';
import { holderFacts, type Registration, spelledAs } from '../nouns/registration.ts';
import { lenderOf, refuseByState, refuseFull } from '../refusals.ts';
import { refuseByRules } from '../rules/rules.ts';
import type { LicenseView } from '../view.ts';

/**
 * Lends a slot that needs no heartbeats until a date. A refusal leaves everything as it was. A later borrow
 * replaces the date, in either direction.
 */
export function decideBorrow(command: Borrow, view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  const { license } = view;
  const early =
    refuseByState(license, now) ??
    refuseByRules(view.rules, command) ??
    (allowsBorrowing(license) ? null : refuseBorrowing(license.product));
  if (early !== null) return denySlot(view, command, early, base, now);
  const until = resolveUntil(command.until, latestBorrowUntil(license, now), now);
  if (typeof until !== 'number') return denySlot(view, command, until, base, now);
  if (isShort(view, base, until)) {
    return denySlot(view, command, refuseFull(lenderOf(view, base)), base, now);
  }
  const crowded = refuseCrowd(command, view, base.held, now);
  if (crowded !== null) return denySlot(view, command, crowded, base, now);
  return lendUntil(command, view, base, until, now);
}

/**
 * Whether the slot is missing: a newcomer needs a free one; a holder needs none, but while a shrunk license
 * is over its limit no borrow is started or extended.
 */
function isShort({ license }: LicenseView, { inUse, held }: Collected, until: Instant): boolean {
  if (held === null) return inUse >= license.slots;
  const isExtended = held.borrowedUntil === null || until > held.borrowedUntil;
  return inUse > license.slots && isExtended;
}

function lendUntil(
  command: Borrow,
  view: LicenseView,
  base: Collected,
  until: Instant,
  now: Instant,
): Decision {
  const { held } = base;
  const registration: Registration = {
    ...spelledAs(held ?? command),
    ...holderFacts(command, held),
    registeredAt: held === null ? now : held.registeredAt,
    endsAt: later(until, heartbeatEnd(view.license, now)),
    borrowedUntil: until,
  };
  const added = held === null ? 1 : 0;
  const cut = cutFeatures(view, base, until, now);
  return {
    outcome: { kind: 'granted', license: view.license, registration, inUse: base.inUse + added, now },
    changes: [
      ...base.changes,
      { kind: 'put_registration', registration },
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

/** What was borrowed of features beyond the new date of the license, cut to it. */
function cutFeatures(view: LicenseView, { heldFeatures }: Collected, until: Instant, now: Instant) {
  return heldFeatures.flatMap((slot) => {
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
