import type { ErrorCode } from '@berth/protocol/errors';
import type { Instant } from './instant.ts';
import type { LicenseId } from './license.ts';
import type { Registration } from './registration.ts';

/**
 * A borrow whose slot was collected. The server cannot know whether its time was right, so it keeps the
 * borrow for a while: if a wrong clock ended it, a reset brings it back. A user has at most one per license
 * and feature, and none after the slot was given back or borrowed again.
 */
export interface EndedBorrow extends Omit<Registration, 'endsAt' | 'borrowedUntil'> {
  /** `WHOLE_LICENSE` for the license's own slot. */
  readonly feature: string;
  readonly borrowedUntil: Instant;
}

/** A borrow as administrators see it. */
export interface NamedBorrow {
  readonly licenseId: LicenseId;
  readonly product: string;
  /** `null`: the license's own slot. */
  readonly feature: string | null;
  readonly user: string;
  readonly borrowedUntil: Instant;
}

export interface LostBorrow extends NamedBorrow {
  readonly code: ErrorCode;
  readonly reason: string;
}
