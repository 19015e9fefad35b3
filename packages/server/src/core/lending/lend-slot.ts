import type { Borrow, Register } from '../command.ts';
import type { Instant } from '../nouns/instant.ts';
import type { Registration } from '../nouns/registration.ts';
import type { Refused } from '../outcome.ts';
import { lenderOf, refuseFull } from '../refusals.ts';
import type { LicenseHead, LicenseView, ViewNeeds } from '../view.ts';
import { crowdToCount, refuseCrowd } from './address-limits.ts';
import type { Collected } from './collect.ts';
import { denialScope } from './deny.ts';

/** Why a slot is not lent, as far as the head and the holder's slot can tell. `full`: no slot is free. */
export type SlotRefusal = Refused | 'full';

/** What a decision to lend a slot needs, once it is known whether it will be refused. */
export function slotNeeds(
  command: Register | Borrow,
  head: LicenseHead,
  held: Registration | null,
  isRefused: boolean,
  now: Instant,
): ViewNeeds {
  const crowd = crowdToCount(command, held, now);
  // A borrow may shorten them; and the user's ended ones may be beyond those that are collected anyway.
  const featureSlots = command.kind === 'borrow' || head.endedBeyond > 0;
  const mayBeDenied = isRefused || crowd !== null;
  return {
    nextEnd: isRefused,
    featureSlots,
    crowd,
    denials: mayBeDenied ? denialScope(command) : null,
  };
}

/** The refusal with the facts that only the view has, or that of a crowded address; `null`: neither. */
export function refuseSlot(
  command: Register | Borrow,
  view: LicenseView,
  base: Collected,
  refusal: SlotRefusal | null,
  now: Instant,
): Refused | null {
  if (refusal === 'full') return refuseFull(lenderOf(view, base));
  return refusal ?? refuseCrowd(command, view, base.held, now);
}
