import type { Change, Decision } from '../decision.ts';
import { collect, inUseChange } from '../lending/collect.ts';
import { carryPlaceRepeats, carryRepeats, tidyPlace } from '../lending/deny.ts';
import { type Instant, plus } from '../nouns/instant.ts';
import type { LicenseView } from '../view.ts';
import { ANSWER_LIFETIME_MS } from './add-consumption.ts';

/**
 * Tidies: what has ended goes, counters of denials whose window is over become events, old answers are
 * forgotten.
 */
export function decideCollect(view: LicenseView, now: Instant): Decision {
  const base = collect(view, now);
  return {
    outcome: {
      kind: 'done',
      count: Math.max(
        base.changes.length,
        view.staleDenials.length,
        view.stalePlaceDenials.length,
        view.staleAnswers,
      ),
    },
    changes: [
      ...base.changes,
      ...inUseChange(view, base.storedInUse),
      ...view.staleDenials.map((denial) => ({ kind: 'remove_denial', denial }) as const),
      ...view.stalePlaceDenials.map((denial) => tidyPlace(denial, now)),
      ...forgetAnswers(view, now),
    ],
    events: [
      ...base.events,
      ...view.staleDenials.flatMap(carryRepeats),
      ...view.stalePlaceDenials.flatMap(carryPlaceRepeats),
    ],
  };
}

function forgetAnswers({ staleAnswers }: LicenseView, now: Instant): readonly Change[] {
  return staleAnswers === 0 ? [] : [{ kind: 'remove_answers', answeredBy: plus(now, -ANSWER_LIFETIME_MS) }];
}
