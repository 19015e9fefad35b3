import type { Change } from '../decision.ts';
import { WHOLE_LICENSE } from '../nouns/consumption.ts';
import type { EndedBorrow } from '../nouns/ended-borrow.ts';
import type { FeatureSlot } from '../nouns/feature-slot.ts';
import type { Instant } from '../nouns/instant.ts';
import { allowsBorrowing, type License } from '../nouns/license.ts';
import type { Registration } from '../nouns/registration.ts';

/** So many of the latest are kept per license, or as many as it has slots if that is more. */
const KEPT_BORROWS = 1000;

/** Keeps the borrows among slots that have just ended. */
export function keepBorrows(
  license: License,
  registrations: readonly Registration[],
  featureSlots: readonly FeatureSlot[],
): readonly Change[] {
  const ended = [
    ...registrations.flatMap((slot) => (slot.borrowedUntil === null ? [] : [ofLicense(slot)])),
    ...featureSlots.flatMap((slot) => (slot.borrowedUntil === null ? [] : [ofFeature(slot)])),
  ];
  if (ended.length === 0) return [];
  return [
    ...ended.map((borrow) => ({ kind: 'keep_borrow', borrow }) as const),
    { kind: 'trim_borrows', kept: Math.max(KEPT_BORROWS, license.slots) },
  ];
}

function ofLicense({ endsAt: _, ...slot }: Registration): EndedBorrow {
  return { ...slot, feature: WHOLE_LICENSE, borrowedUntil: slot.borrowedUntil as Instant };
}

function ofFeature({ feature, user, registeredAt, borrowedUntil, programs }: FeatureSlot): EndedBorrow {
  const host = { hostname: null, address: null, info: null };
  return {
    feature,
    user,
    host,
    origin: null,
    credential: null,
    registeredAt,
    borrowedUntil: borrowedUntil as Instant,
    programs,
  };
}

/** After the slot was given back, taken back or borrowed again, an earlier borrow must not be restored. */
export function forgetBorrow(
  license: License,
  user: string,
  feature: string | null = null,
): readonly Change[] {
  return mayHaveBorrows(license) ? [{ kind: 'forget_borrow', user, feature }] : [];
}

export function mayHaveBorrows(license: License): boolean {
  return allowsBorrowing(license) || license.features.some(({ floating }) => floating?.canBorrow === true);
}
