import type { Instant } from './instant.ts';

/** What the application says about where its user sits. It describes; it never identifies. */
export interface HostInfo {
  readonly hostname: string | null;
  readonly address: string | null;
  readonly info: string | null;
}

/** One user holding one slot of a license. There is at most one per license and user. */
export interface Registration {
  readonly user: string;
  /** How the user was spelled when the slot was lent, where that is not the name; see `user-name.ts`. */
  readonly spelling?: string;
  readonly host: HostInfo;
  readonly registeredAt: Instant;
  /** The slot is free from this instant on: the heartbeat's timeout or the end of the borrow, the later. */
  readonly endsAt: Instant;
  readonly borrowedUntil: Instant | null;
}

/** The holder's name, and its spelling where it is another one. */
export function spelledAs({ user, spelling }: Pick<Registration, 'user' | 'spelling'>) {
  return spelling === undefined ? { user } : { user, spelling };
}

export function isLive(registration: Registration, now: Instant): boolean {
  return now < registration.endsAt;
}

export function isBorrowed(registration: Registration, now: Instant): boolean {
  return registration.borrowedUntil !== null && now < registration.borrowedUntil;
}
