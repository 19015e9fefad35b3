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
  readonly host: HostInfo;
  readonly registeredAt: Instant;
  /** The slot is free from this instant on: the heartbeat's timeout or the end of the borrow, the later. */
  readonly endsAt: Instant;
  readonly borrowedUntil: Instant | null;
}

export function isLive(registration: Registration, now: Instant): boolean {
  return now < registration.endsAt;
}

export function isBorrowed(registration: Registration, now: Instant): boolean {
  return registration.borrowedUntil !== null && now < registration.borrowedUntil;
}
