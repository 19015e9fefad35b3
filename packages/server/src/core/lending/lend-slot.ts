import { placeRange } from '@berth/protocol/address-range';
import type { AddressLimits, Borrow, Register, RegisterFeature } from '../command.ts';
import { addressOf } from '../nouns/actor.ts';
import type { Instant } from '../nouns/instant.ts';
import { isBorrowed, type Registration } from '../nouns/registration.ts';
import { type Refused, refuse } from '../outcome.ts';
import { lenderOf, refuseFull } from '../refusals.ts';
import type { AddressUsage, LicenseView } from '../view.ts';
import type { Collected } from './collect.ts';

/** Why a slot is not lent, as far as the head and the holder's slot can tell. `full`: no slot is free. */
export type SlotRefusal = Refused | 'full';

/** The refusal with the facts that only the view has, or that of a limit per address; `null`: neither. */
export function refuseSlot(
  command: Register | Borrow,
  view: LicenseView,
  base: Collected,
  refusal: SlotRefusal | null,
  now: Instant,
): Refused | null {
  if (refusal === 'full') return refuseFull(lenderOf(view, base));
  return refusal ?? refuseSpent(command, base.held) ?? refuseByAddress(command, view, base.held, now);
}

/**
 * Why a place gets nothing new for now; `null`: it does, or only a timer is restarted. A borrow is recorded
 * each time, so a later one is new as well.
 */
export function refuseSpent(
  command: Register | Borrow | RegisterFeature,
  held: object | null,
): Refused | null {
  const spent = command.perAddress?.spent;
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

/**
 * Why the address gets no more; `null`: it does. Only a request that takes more than its user holds is
 * counted, so a heartbeat costs nothing here, and a holder may renew from anywhere.
 */
function refuseByAddress(
  command: Register | Borrow,
  view: LicenseView,
  held: Registration | null,
  now: Instant,
): Refused | null {
  const limit = limitFor(command, held, now);
  const address = limit === null ? null : addressOf(command.by);
  const range = address === null ? null : placeRange(address);
  if (limit === null || range === null) return null;
  const crowd = view.countCrowd(range);
  const { product } = view.license;
  const isFull = (kind: keyof AddressUsage) => limit[kind] > 0 && crowd[kind] >= limit[kind];
  if (isFull('slots')) return refuseMore(`${crowd.slots} slots of "${product}" are held`, limit.slots);
  if (!isFull('borrows')) return null;
  return refuseMore(`${crowd.borrows} slots of "${product}" are borrowed`, limit.borrows);
}

/** The limits that this request can reach; `null`: none. */
function limitFor(command: Register | Borrow, held: Registration | null, now: Instant): AddressLimits | null {
  const { perAddress = NO_LIMITS } = command;
  const slots = held === null ? perAddress.slots : 0;
  const isBorrow = command.kind === 'borrow' && (held === null || !isBorrowed(held, now));
  const borrows = isBorrow ? perAddress.borrows : 0;
  return slots === 0 && borrows === 0 ? null : { slots, borrows };
}

const NO_LIMITS: AddressLimits = { slots: 0, borrows: 0 };

function refuseMore(what: string, limit: number): Refused {
  return refuse(
    'address_limit_reached',
    `${what} from this address, and the administrator allows no more than ${limit}. ` +
      'Return one, or ask the administrator.',
    { limit },
  );
}
