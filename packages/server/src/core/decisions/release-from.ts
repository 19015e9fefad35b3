import { type AddressRange, isWithin, parseAddress, parseRange } from '@berth/protocol/address-range';
import type { ReleaseFrom } from '../command.ts';
import { type CommandModule, ON_LICENSE } from '../command-module.ts';
import type { Change } from '../decision.ts';
import { collect, inUseChange } from '../lending/collect.ts';
import { forgetBorrow } from '../lending/keep-borrows.ts';
import type { LicenseEvent } from '../nouns/audit-event.ts';
import type { Instant } from '../nouns/instant.ts';
import { isBorrowed, isLive, type Registration, severalPrograms } from '../nouns/registration.ts';
import type { Holder } from '../view.ts';

/**
 * Frees what came from one address, borrowed or not. A user who has moved to another address since the list
 * was made keeps the slot.
 */
export const releaseFrom = {
  ...ON_LICENSE,
  subject: (command) => ({ ...ON_LICENSE.subject(command), users: command.users }),

  decide(command, view, now) {
    const base = collect(view, now);
    const range = parseRange(command.address);
    const held = view
      .listHolders()
      .filter(({ registration }) => isLive(registration, now) && isFrom(registration, range));
    const freed = held.map((holder) => withoutEnded(holder, now));
    return {
      outcome: { kind: 'done', count: freed.length },
      changes: [
        ...base.changes,
        ...freed.flatMap(removeHolder),
        ...freed.flatMap(({ registration }) => forgetBorrow(view.license, registration.user)),
        ...inUseChange(view, base.storedInUse - freed.length),
      ],
      events: [...base.events, ...freed.flatMap((holder) => removalEvents(holder, command, now))],
    };
  },
} satisfies CommandModule<ReleaseFrom>;

function isFrom({ origin }: Registration, range: AddressRange | null): boolean {
  const address = origin === null ? null : parseAddress(origin);
  return address !== null && range !== null && isWithin(address, range);
}

/** Feature slots that have ended are collected, and must not be removed twice. */
function withoutEnded({ registration, featureSlots }: Holder, now: Instant): Holder {
  return { registration, featureSlots: featureSlots.filter(({ endsAt }) => endsAt > now) };
}

function removeHolder({ registration, featureSlots }: Holder): readonly Change[] {
  const { user } = registration;
  return [
    ...featureSlots.map(({ feature }) => ({ kind: 'remove_feature_slot', feature, user }) as const),
    { kind: 'remove_registration', registration },
  ];
}

function removalEvents(
  { registration, featureSlots }: Holder,
  { by }: ReleaseFrom,
  now: Instant,
): readonly LicenseEvent[] {
  const { user } = registration;
  const borrowedUntil = registration.borrowedUntil as Instant;
  const several = severalPrograms(registration.programs);
  return [
    ...featureSlots.map(({ feature }) => ({ kind: 'feature_returned', feature, user }) as const),
    isBorrowed(registration, now)
      ? { kind: 'slot_recalled', user, borrowedUntil, by, ...several }
      : { kind: 'slot_returned', user, by, ...several },
  ];
}
