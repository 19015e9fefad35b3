import type { LicenseEvent } from './audit-event.ts';
import type { Change } from './decision.ts';
import type { Instant } from './instant.ts';
import { isLive, type Registration } from './registration.ts';
import type { LicenseHead, LicenseView } from './view.ts';

/** What is left of a view once everything that has ended is gone, and what it takes to get there. */
export interface Collected {
  /** Slots in use now, whatever is still stored. */
  readonly inUse: number;
  /** What the stored number becomes: it still counts ended slots that this command leaves to the next one. */
  readonly storedInUse: number;
  /** The user's slot, if it is live. */
  readonly held: Registration | null;
  readonly changes: readonly Change[];
  readonly events: readonly LicenseEvent[];
}

/** Slots in use now: the stored number without those whose time is over. */
export function countInUse(head: LicenseHead): number {
  return head.storedInUse - head.ended.length - head.endedBeyond;
}

/** Every decision on a license starts here, so that expiry needs no timer. */
export function collect(view: LicenseView, now: Instant): Collected {
  const { registration } = view;
  const held = registration !== null && isLive(registration, now) ? registration : null;
  const ended = withOwnEnded(view, registration, held);
  return {
    inUse: countInUse(view),
    storedInUse: view.storedInUse - ended.length,
    held,
    changes: ended.map(({ user }) => ({ kind: 'remove_registration', user })),
    events: ended.map(({ user, endsAt }) => ({ kind: 'slot_expired', user, endedAt: endsAt })),
  };
}

/** The user's own ended slot may lie beyond the first thousand; it must go before they get a new one. */
function withOwnEnded(view: LicenseView, own: Registration | null, held: Registration | null) {
  if (own === null || held !== null) return view.ended;
  const isCollected = view.ended.some(({ user }) => user === own.user);
  return isCollected ? view.ended : [...view.ended, own];
}

/** The change to the stored number, if it does change. */
export function inUseChange(view: LicenseView, storedInUse: number): readonly Change[] {
  return storedInUse === view.storedInUse ? [] : [{ kind: 'set_in_use', inUse: storedInUse }];
}
