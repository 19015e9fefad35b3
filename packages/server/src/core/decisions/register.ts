import type { Register } from '../command.ts';
import { type CommandModule, ON_POOL } from '../command-module.ts';
import type { Decision } from '../decision.ts';
import { type Collected, collect, countInUse, inUseChange } from '../lending/collect.ts';
import { judgeOf, putFollowed } from '../lending/count-slots.ts';
import { denySlot } from '../lending/deny.ts';
import { refuseSlot, type SlotRefusal } from '../lending/lend-slot.ts';
import { type Instant, later } from '../nouns/instant.ts';
import { heartbeatEnd } from '../nouns/license.ts';
import { holderFacts, isSameHolder, type Registration, slotOf } from '../nouns/registration.ts';
import { refuseByState, refuseRenewal } from '../refusals.ts';
import { NO_RULES, refuseByRules } from '../rules/rules.ts';
import type { LicenseView } from '../view.ts';

/**
 * Lends a slot, or restarts the timer of the one that the user holds: never a second one, wherever they call
 * from. A holder may renew even when the license has become smaller than its use.
 */
export const register = {
  ...ON_POOL,
  isFromClients: true,
  deny: denySlot,

  decide(command, view, now) {
    const base = collect(view, now);
    const early = refuseEarly(command, view, base.held, now);
    const refusal = refuseSlot(command, view, base, early);
    if (refusal !== null) return denySlot(command, view, base, refusal, now);
    return base.held === null ? lend(command, view, base, now) : renew(command, view, base, base.held, now);
  },
} satisfies CommandModule<Register>;

function refuseEarly(
  command: Register,
  view: LicenseView,
  held: Registration | null,
  now: Instant,
): SlotRefusal | null {
  const { license, rules } = view;
  const byState = held === null ? refuseByState(license, now) : refuseRenewal(license, now);
  const refusal = byState ?? refuseByRules(rules, command, license.product, null);
  if (refusal !== null || held !== null) return refusal;
  const isFull = countInUse(view) + view.kept >= license.slots;
  if (rules === NO_RULES) return isFull ? 'full' : null;
  const judge = judgeOf(command, view, null, now);
  return judge.refuseByLimit() ?? (isFull ? 'full' : judge.refuseByReservation());
}

function renew(
  command: Register,
  view: LicenseView,
  base: Collected,
  held: Registration,
  now: Instant,
): Decision {
  const timeout = heartbeatEnd(view.license, now);
  const { registeredAt, borrowedUntil } = held;
  const endsAt = borrowedUntil === null ? timeout : later(timeout, borrowedUntil);
  const times = { registeredAt, endsAt, borrowedUntil };
  const registration = slotOf(held, holderFacts(command, held), times);
  const isSame = isSameHolder(registration, held);
  return {
    outcome: { kind: 'granted', license: view.license, registration, inUse: base.inUse, now },
    changes: [
      ...base.changes,
      isSame
        ? { kind: 'renew_registration', user: held.user, endsAt }
        : putFollowed(view, base, held, registration, now),
      ...inUseChange(view, base.storedInUse),
    ],
    events: base.events,
  };
}

function lend(command: Register, view: LicenseView, base: Collected, now: Instant): Decision {
  const times = { registeredAt: now, endsAt: heartbeatEnd(view.license, now), borrowedUntil: null };
  const registration = slotOf(command, holderFacts(command, null), times);
  return {
    outcome: { kind: 'granted', license: view.license, registration, inUse: base.inUse + 1, now },
    changes: [
      ...base.changes,
      { kind: 'put_registration', registration, before: null },
      { kind: 'set_in_use', inUse: base.storedInUse + 1 },
    ],
    events: [...base.events, { kind: 'slot_lent', user: command.user, hostname: command.host.hostname }],
  };
}
