import type { Collect } from '../command.ts';
import { type CommandModule, ON_LICENSE } from '../command-module.ts';
import type { Change } from '../decision.ts';
import { collect as collectEnded, collectedChanges } from '../lending/collect.ts';
import {
  carryPlaceRepeats,
  carryRepeats,
  DENIAL_WINDOW_MS,
  PLACE_WINDOW_MS,
  tidyPlace,
} from '../lending/deny.ts';
import { ANSWER_LIFETIME_MS } from '../lending/repeat-answer.ts';
import { type Instant, plus } from '../nouns/instant.ts';
import type { LicenseView } from '../view.ts';

/**
 * Housekeeping: removes what has ended, turns denial counters whose window is over into events, and forgets
 * old answers.
 */
export const collect = {
  ...ON_LICENSE,
  mayBeRemoved: () => true,

  needs(_command, _head, _registration, now) {
    const stale = {
      denialsBy: plus(now, -DENIAL_WINDOW_MS),
      placesBy: plus(now, -PLACE_WINDOW_MS),
      answersBy: plus(now, -ANSWER_LIFETIME_MS),
    };
    return { stale };
  },

  decide(_command, view, now) {
    const base = collectEnded(view, now);
    const { staleDenials, stalePlaceDenials, staleAnswers } = view;
    const count = Math.max(base.changes.length, staleDenials.length, stalePlaceDenials.length, staleAnswers);
    return {
      outcome: { kind: 'done', count },
      changes: [
        ...collectedChanges(view, base),
        ...staleDenials.map((denial) => ({ kind: 'remove_denial', denial }) as const),
        ...stalePlaceDenials.map((denial) => tidyPlace(denial, now)),
        ...forgetAnswers(view, now),
      ],
      events: [
        ...base.events,
        ...staleDenials.flatMap(carryRepeats),
        ...stalePlaceDenials.flatMap(carryPlaceRepeats),
      ],
    };
  },
} satisfies CommandModule<Collect>;

function forgetAnswers({ staleAnswers }: LicenseView, now: Instant): readonly Change[] {
  return staleAnswers === 0 ? [] : [{ kind: 'remove_answers', answeredBy: plus(now, -ANSWER_LIFETIME_MS) }];
}
