import type { ErrorCode } from '@berth/protocol/errors';
import type { LicenseEvent } from './audit-event.ts';
import { type Collected, collectedChanges } from './collect.ts';
import { WHOLE_LICENSE } from './consumption.ts';
import type { Decision, Refused } from './decision.ts';
import { type Instant, MINUTE_MS } from './instant.ts';
import type { Denial, LicenseView } from './view.ts';

/** A user's repeated denials within this time are counted instead of becoming an event each. */
export const DENIAL_WINDOW_MS = MINUTE_MS;

/** What was asked for, by whom. */
export interface Denied {
  readonly kind: 'slot_denied' | 'consumption_denied';
  readonly feature: string | null;
  readonly user: string | null;
}

/**
 * Refuses, and leaves a trace. A user's first denial is recorded as it is; what follows within the window is
 * only counted, and the count goes into the next record, so that a client in a retry loop cannot flood the
 * chain.
 */
export function deny(
  view: LicenseView,
  denied: Denied,
  refusal: Refused,
  base: Collected,
  now: Instant,
): Decision {
  const { denial, events } = trace(view, denied, refusal.code, now);
  return {
    outcome: refusal,
    changes: [...collectedChanges(view, base), { kind: 'put_denial', denial }],
    events: [...base.events, ...events],
  };
}

export function denySlot(
  view: LicenseView,
  user: string,
  refusal: Refused,
  base: Collected,
  now: Instant,
): Decision {
  return deny(view, { kind: 'slot_denied', feature: null, user }, refusal, base, now);
}

function trace(view: LicenseView, { kind, feature, user }: Denied, code: ErrorCode, now: Instant) {
  const subject = { user: user ?? NOBODY, feature: feature ?? WHOLE_LICENSE };
  const last = view.denials.find((denial) => denial.code === code && denial.feature === subject.feature);
  const repeated = last?.repeated ?? 0;
  if (last !== undefined && isInWindow(last, now)) {
    return { denial: { ...last, repeated: repeated + 1 }, events: [] };
  }
  const event: LicenseEvent = { kind, ...(feature === null ? {} : { feature }), user, code, repeated };
  return { denial: { ...subject, code, deniedAt: now, repeated: 0 }, events: [event] };
}

/** Stands for a user that was not named; a user's own name is never empty. */
export const NOBODY = '';

function isInWindow({ deniedAt }: Denial, now: Instant): boolean {
  return deniedAt <= now && now < deniedAt + DENIAL_WINDOW_MS;
}
