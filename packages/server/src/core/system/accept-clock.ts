import { unchanged } from '../decision.ts';
import { refuse } from '../outcome.ts';
import type { AcceptClock } from '../system-command.ts';
import { ON_SERVER, type SystemFacts, type SystemModule } from '../system-module.ts';

/** Follows a wall clock that is ahead. */
export const acceptClock = {
  ...ON_SERVER,
  scope: 'all',
  needs: () => ({ clock: true }),

  decide({ by }, { clock }: Pick<SystemFacts, 'clock'>, from) {
    const { jump, wall: to } = clock;
    if (jump?.direction !== 'ahead' || to <= from) {
      const message = "The wall clock is not ahead of the server's time: nothing to accept.";
      return unchanged(refuse('clock_not_ahead', message));
    }
    return {
      outcome: { kind: 'done', count: 1 },
      changes: [
        { kind: 'move_clock', to },
        { kind: 'prolong_live', since: from },
      ],
      events: [{ kind: 'clock_accepted', from, to, by }],
    };
  },
} satisfies SystemModule<AcceptClock>;
