import type { ErrorCode } from '@berth/protocol/errors';
import type { LicenseEvent } from './audit-event.ts';
import { type Collected, inUseChange } from './collect.ts';
import type { Decision, Refused } from './decision.ts';
import { type Instant, MINUTE_MS } from './instant.ts';
import type { Denial, LicenseView } from './view.ts';

/** A user's repeated denials within this time are counted instead of becoming an event each. */
export const DENIAL_WINDOW_MS = MINUTE_MS;

/**
 * Refuses a slot and leaves a trace. A user's first denial is recorded as it is; what follows within the
 * window is only counted, and the count goes into the next record, so that a client in a retry loop cannot
 * flood the chain.
 */
export function denySlot(
  view: LicenseView,
  user: string,
  refusal: Refused,
  base: Collected,
  now: Instant,
): Decision {
  const { denial, events } = trace(view, user, refusal.code, now);
  return {
    outcome: refusal,
    changes: [...base.changes, ...inUseChange(view, base.storedInUse), { kind: 'put_denial', denial }],
    events: [...base.events, ...events],
  };
}

function trace(view: LicenseView, user: string, code: ErrorCode, now: Instant) {
  const last = view.denials.find((denial) => denial.code === code);
  const repeated = last?.repeated ?? 0;
  if (last !== undefined && isInWindow(last, now)) {
    return { denial: { ...last, repeated: repeated + 1 }, events: [] };
  }
  const event: LicenseEvent = { kind: 'slot_denied', user, code, repeated };
  return { denial: { user, code, deniedAt: now, repeated: 0 }, events: [event] };
}

function isInWindow({ deniedAt }: Denial, now: Instant): boolean {
  return deniedAt <= now && now < deniedAt + DENIAL_WINDOW_MS;
}
