import type { LicenseEvent } from './audit-event.ts';
import { type Collected, collect } from './collect.ts';
import type { Borrow } from './command.ts';
import { type Decision, type Refused, refuse } from './decision.ts';
import { denySlot } from './deny.ts';
import { earlier, type Instant, later, MINUTE_MS, say } from './instant.ts';
import { allowsBorrowing, heartbeatEnd, latestBorrowUntil } from './license.ts';
import { refuseByState, refuseFull } from './refusals.ts';
import type { Registration } from './registration.ts';
import type { LicenseView } from './view.ts';

/**
 * Clients' clocks differ: a date this little beyond the latest allowed one is cut to it instead of refused.
 */
const BORROW_TOLERANCE_MS = 5 * MINUTE_MS;

/**
 * Lends a slot that needs no heartbeats until a date. A refusal leaves everything as it was. A later borrow
 * replaces the date, in either direction.
 */
export function decideBorrow(command: Borrow, view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  const { license } = view;
  const early = refuseByState(license, now) ?? refuseBorrowing(view);
  if (early !== null) return denySlot(view, command.user, early, base, now);
  const until = resolveUntil(command, view, now);
  if (typeof until !== 'number') return denySlot(view, command.user, until, base, now);
  if (isShort(view, base, until)) {
    return denySlot(view, command.user, refuseFull(license, base.inUse, view.nextEndsAt), base, now);
  }
  return lendUntil(command, view, base, until, now);
}

function refuseBorrowing({ license }: LicenseView): Refused | null {
  if (allowsBorrowing(license)) return null;
  return refuse(
    'license_borrow_not_allowed',
    `The license of "${license.product}" does not allow borrowing.`,
  );
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

/**
 * The instant that was asked for, cut to what the license allows, or the refusal that says the latest one.
 */
function resolveUntil({ until }: Borrow, { license }: LicenseView, now: Instant): Instant | Refused {
  const latest = latestBorrowUntil(license, now);
  if (until === 'unreadable') return refuseUntil('cannot be read as a date', latest);
  if (latest <= now) return refuseUntil('is not possible: the license is no longer valid', latest);
  const wanted = until === 'longest' ? latest : until;
  if (wanted <= now) return refuseUntil('is not in the future', latest);
  if (wanted > latest + BORROW_TOLERANCE_MS) return refuseUntil('is later than the license allows', latest);
  return earlier(wanted, latest);
}

function refuseUntil(problem: string, latestUntil: Instant): Refused {
  return refuse(
    'borrow_until_not_valid',
    `"borrowed_until" ${problem}. The latest that the license allows now is ${say(latestUntil)}.`,
    { latestUntil },
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
  const registration: Registration = {
    user: command.user,
    host: command.host,
    registeredAt: held === null ? now : held.registeredAt,
    endsAt: later(until, heartbeatEnd(view.license, now)),
    borrowedUntil: until,
  };
  const added = held === null ? 1 : 0;
  return {
    outcome: { kind: 'granted', license: view.license, registration, inUse: base.inUse + added, now },
    changes: [
      ...base.changes,
      { kind: 'put_registration', registration },
      { kind: 'set_in_use', inUse: base.storedInUse + added },
    ],
    events: [...base.events, ...lendEvents(registration, held)],
  };
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
