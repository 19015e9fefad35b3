import { type Actor, addressOf } from './actor.ts';
import type { Instant } from './instant.ts';

/** What the application says about its user's machine. It describes; it never identifies. */
export interface HostInfo {
  readonly hostname: string | null;
  readonly address: string | null;
  readonly info: string | null;
}

/** One user holding one slot of a license. There is at most one per license and user. */
export interface Registration {
  readonly user: string;
  /** How the user was spelled when the slot was lent, if not like the name; see `user-name.ts`. */
  readonly spelling?: string;
  readonly host: HostInfo;
  /** The address that the last register or borrow came from: a fact, unlike `host.address`. */
  readonly origin: string | null;
  /** Where the rules count the slot, if not at `host` and `origin`; see `count-slots.ts`. */
  readonly countedAt?: CountedAt;
  /** The credentials that came with it; `null`: clients need none. */
  readonly credential: string | null;
  readonly registeredAt: Instant;
  /** When the slot is free: at the heartbeat's timeout or the end of the borrow, whichever is later. */
  readonly endsAt: Instant;
  readonly borrowedUntil: Instant | null;
}

/** A place at which a slot is counted. */
export interface CountedAt {
  readonly hostname: string | null;
  readonly address: string | null;
}

/** What a register or a borrow says about its sender. */
interface Asking {
  readonly host: HostInfo;
  readonly by?: Actor;
  readonly credential?: string;
}

/** Keeps the known facts about a holder unless the request has newer ones. Its credential always counts. */
export function holderFacts({ host, by, credential }: Asking, held: Registration | null) {
  return {
    host: {
      hostname: host.hostname ?? held?.host.hostname ?? null,
      address: host.address ?? held?.host.address ?? null,
      info: host.info ?? held?.host.info ?? null,
    },
    origin: addressOf(by) ?? held?.origin ?? null,
    credential: credential ?? null,
  };
}

/** A holder with a slot. Made for every heartbeat: writing out all fields is faster than copying some. */
export function slotOf(
  { user, spelling }: Pick<Registration, 'user' | 'spelling'>,
  { host, origin, credential }: ReturnType<typeof holderFacts>,
  { registeredAt, endsAt, borrowedUntil }: Pick<Registration, 'registeredAt' | 'endsAt' | 'borrowedUntil'>,
): Registration {
  const slot = { user, host, origin, credential, registeredAt, endsAt, borrowedUntil };
  return spelling === undefined ? slot : { ...slot, spelling };
}

export function isSameHolder(a: Registration, b: Registration): boolean {
  return (
    a.origin === b.origin &&
    a.countedAt === b.countedAt &&
    a.credential === b.credential &&
    a.host.hostname === b.host.hostname &&
    a.host.address === b.host.address &&
    a.host.info === b.host.info
  );
}

export function isLive(registration: Registration, now: Instant): boolean {
  return now < registration.endsAt;
}

/** The registration if it is live. */
export function orNoSlot(registration: Registration | null, now: Instant): Registration | null {
  return registration !== null && isLive(registration, now) ? registration : null;
}

/** Until when the holder surely has the slot: the end of the borrow, or else of the slot. */
export function heldUntil(registration: Registration, now: Instant): Instant {
  return isBorrowed(registration, now) ? (registration.borrowedUntil as Instant) : registration.endsAt;
}

export function isBorrowed(registration: Registration, now: Instant): boolean {
  return registration.borrowedUntil !== null && now < registration.borrowedUntil;
}
