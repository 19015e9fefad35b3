import type { LicenseEvent } from './audit-event.ts';
import { collect, inUseChange } from './collect.ts';
import { WHOLE_LICENSE } from './consumption.ts';
import { ANSWER_LIFETIME_MS } from './decide-add-consumption.ts';
import type { Change, Decision } from './decision.ts';
import { NOBODY } from './deny.ts';
import { type Instant, plus } from './instant.ts';
import type { Denial, LicenseView } from './view.ts';

/**
 * Tidies: what has ended goes, counters of denials whose window is over become events, old answers are
 * forgotten.
 */
export function decideCollect(view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  return {
    outcome: {
      kind: 'done',
      count: Math.max(base.changes.length, view.staleDenials.length, view.staleAnswers),
    },
    changes: [
      ...base.changes,
      ...inUseChange(view, base.storedInUse),
      ...view.staleDenials.map((denial) => ({ kind: 'remove_denial', denial }) as const),
      ...forgetAnswers(view, now),
    ],
    events: [...base.events, ...view.staleDenials.flatMap(carryRepeats)],
  };
}

function forgetAnswers({ staleAnswers }: LicenseView, now: Instant): readonly Change[] {
  return staleAnswers === 0 ? [] : [{ kind: 'remove_answers', answeredBy: plus(now, -ANSWER_LIFETIME_MS) }];
}

/** What a counter has gathered must not be lost when the counter goes. */
function carryRepeats({ user, feature, code, repeated }: Denial): readonly LicenseEvent[] {
  if (repeated === 0) return [];
  const subject = feature === WHOLE_LICENSE ? {} : { feature };
  return [{ kind: 'denials_repeated', ...subject, user: user === NOBODY ? null : user, code, repeated }];
}
