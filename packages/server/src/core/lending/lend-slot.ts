import type { Borrow, Register, RegisterFeature } from '../command.ts';
import { type Refused, refuse } from '../outcome.ts';
import { lenderOf, refuseFull } from '../refusals.ts';
import type { LicenseView } from '../view.ts';
import type { Collected } from './collect.ts';

/** Why a slot is not lent, as far as the head and the holder's slot can tell. `full`: no slot is free. */
export type SlotRefusal = Refused | 'full';

/** The refusal with the facts that only the view has, or that of a place that took too many; `null`: none. */
export function refuseSlot(
  command: Register | Borrow,
  view: LicenseView,
  base: Collected,
  refusal: SlotRefusal | null,
): Refused | null {
  if (refusal === 'full') return refuseFull(lenderOf(view, base));
  return refusal ?? refuseSpent(command, base.held);
}

/**
 * Why a place gets nothing new for now; `null`: it does, or only a timer is restarted. A borrow is recorded
 * each time, so a later one is new as well.
 */
export function refuseSpent(
  command: Register | Borrow | RegisterFeature,
  held: object | null,
): Refused | null {
  const spent = command.spent;
  const isBorrow = command.kind !== 'register' && (command.kind === 'borrow' || command.until !== null);
  if (spent === undefined || (held !== null && !isBorrow)) return null;
  return refuse(
    'address_limit_reached',
    `${spent.limit} slots were taken from this address within an hour, and the administrator allows ` +
      'no more. Those that are held can still be renewed and returned. ' +
      `Try again in ${spent.retryAfterSeconds} s, or ask the administrator.`,
    { ...spent },
  );
}
