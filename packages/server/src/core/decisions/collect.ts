import type { Collect } from '../command.ts';
import { type CommandModule, ON_LICENSE } from '../command-module.ts';
import { collect as collectEnded, collectedChanges } from '../lending/collect.ts';
import {
  carryPlaceRepeats,
  carryRepeats,
  DENIAL_WINDOW_MS,
  PLACE_WINDOW_MS,
  tidyPlace,
} from '../lending/deny.ts';
import { ANSWER_LIFETIME_MS } from '../lending/repeat-answer.ts';
import { plus } from '../nouns/instant.ts';

/**
 * Housekeeping: removes what has ended, turns denial counters whose window is over into events, and forgets
 * old answers.
 */
export const collect = {
  ...ON_LICENSE,
  mayBeRemoved: () => true,

  decide(_command, view, now) {
    const base = collectEnded(view, now);
    const denials = view.listStaleDenials(plus(now, -DENIAL_WINDOW_MS));
    const placeDenials = view.listStalePlaceDenials(plus(now, -PLACE_WINDOW_MS));
    const answeredBy = plus(now, -ANSWER_LIFETIME_MS);
    const answers = view.countStaleAnswers(answeredBy);
    const count = Math.max(base.changes.length, denials.length, placeDenials.length, answers);
    return {
      outcome: { kind: 'done', count },
      changes: [
        ...collectedChanges(view, base),
        ...denials.map((denial) => ({ kind: 'remove_denial', denial }) as const),
        ...placeDenials.map((denial) => tidyPlace(denial, now)),
        ...(answers === 0 ? [] : [{ kind: 'remove_answers', answeredBy } as const]),
      ],
      events: [...base.events, ...denials.flatMap(carryRepeats), ...placeDenials.flatMap(carryPlaceRepeats)],
    };
  },
} satisfies CommandModule<Collect>;
