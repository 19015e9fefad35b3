import type { LicenseEvent } from './audit-event.ts';
import { collect, inUseChange } from './collect.ts';
import type { Decision } from './decision.ts';
import type { Instant } from './instant.ts';
import type { Denial, LicenseView } from './view.ts';

/** Tidies: ended slots go, and counters of denials whose window is over become events. */
export function decideCollect(view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  return {
    outcome: { kind: 'done', count: Math.max(base.changes.length, view.staleDenials.length) },
    changes: [
      ...base.changes,
      ...inUseChange(view, base.storedInUse),
      ...view.staleDenials.map((denial) => ({ kind: 'remove_denial', denial }) as const),
    ],
    events: [...base.events, ...view.staleDenials.flatMap(carryRepeats)],
  };
}

/** What a counter has gathered must not be lost when the counter goes. */
function carryRepeats({ user, code, repeated }: Denial): readonly LicenseEvent[] {
  return repeated === 0 ? [] : [{ kind: 'denials_repeated', user, code, repeated }];
}
