import type { Register } from '../command.ts';
import type { Decision } from '../decision.ts';
import { refuseCrowd } from '../lending/address-limits.ts';
import { type Collected, collect, inUseChange } from '../lending/collect.ts';
import { denySlot } from '../lending/deny.ts';
import { type Instant, later } from '../nouns/instant.ts';
import { heartbeatEnd } from '../nouns/license.ts';
import { holderFacts, isSameHolder, type Registration, spelledAs } from '../nouns/registration.ts';
import { lenderOf, refuseByState, refuseFull, refuseRenewal } from '../refusals.ts';
import { refuseByRules } from '../rules/rules.ts';
import type { LicenseView } from '../view.ts';

/**
 * Lends a slot, or starts the timer of the one that the user holds again: never a second one, wherever they
 * call from. Who holds a slot may renew it even where the license has become smaller than its use.
 */
export function decideRegister(command: Register, view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  const { license } = view;
  const byState = base.held === null ? refuseByState(license, now) : refuseRenewal(license, now);
  const refusal = byState ?? refuseByRules(view.rules, command);
  if (refusal !== null) return denySlot(view, command, refusal, base, now);
  if (base.held !== null) return renew(command, view, base, base.held, now);
  if (base.inUse >= license.slots) {
    return denySlot(view, command, refuseFull(lenderOf(view, base)), base, now);
  }
  const crowded = refuseCrowd(command, view, null, now);
  if (crowded !== null) return denySlot(view, command, crowded, base, now);
  return lend(command, view, base, now);
}

function renew(
  command: Register,
  view: LicenseView,
  base: Collected,
  held: Registration,
  now: Instant,
): Decision {
  const timeout = heartbeatEnd(view.license, now);
  const registration: Registration = {
    ...held,
    ...holderFacts(command, held),
    endsAt: held.borrowedUntil === null ? timeout : later(timeout, held.borrowedUntil),
  };
  const { user, endsAt } = registration;
  return {
    outcome: { kind: 'granted', license: view.license, registration, inUse: base.inUse, now },
    changes: [
      ...base.changes,
      isSameHolder(registration, held)
        ? { kind: 'renew_registration', user, endsAt }
        : { kind: 'put_registration', registration },
      ...inUseChange(view, base.storedInUse),
    ],
    events: base.events,
  };
}

function lend(command: Register, view: LicenseView, base: Collected, now: Instant): Decision {
  const registration: Registration = {
    ...spelledAs(command),
    ...holderFacts(command, null),
    registeredAt: now,
    endsAt: heartbeatEnd(view.license, now),
    borrowedUntil: null,
  };
  return {
    outcome: { kind: 'granted', license: view.license, registration, inUse: base.inUse + 1, now },
    changes: [
      ...base.changes,
      { kind: 'put_registration', registration },
      { kind: 'set_in_use', inUse: base.storedInUse + 1 },
    ],
    events: [...base.events, { kind: 'slot_lent', user: command.user, hostname: command.host.hostname }],
  };
}
