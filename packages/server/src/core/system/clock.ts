import { isResettable } from '../clock/clock.ts';
import { decideRestore } from '../clock/decide-restore.ts';
import { unchanged } from '../decision.ts';
import type { LostBorrow } from '../nouns/ended-borrow.ts';
import { type Instant, instant, later, say } from '../nouns/instant.ts';
import type { License } from '../nouns/license.ts';
import { type Refused, refuse } from '../outcome.ts';
import type { AcceptClock, ResetClock } from '../system-command.ts';
import type { SystemFacts, SystemModule } from '../system-module.ts';

/** Follows a wall clock that is ahead. */
export const acceptClock = {
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
        { kind: 'extend_live', since: from },
      ],
      events: [{ kind: 'clock_accepted', from, to, by }],
    };
  },
} satisfies SystemModule<AcceptClock>;

/**
 * Goes back to the wall clock after a wrong one has driven the server's time ahead. Slots that had ended stay
 * ended, except for borrows whose date is ahead again; live ones get one full timeout from the new time, and
 * no borrow reaches further than one made now.
 */
export const resetClock = {
  scope: 'all',
  needs: () => ({ reset: true }),

  decide({ mode = 'careful', by }, { reset }: Pick<SystemFacts, 'reset'>, from) {
    const { to, licenses } = reset;
    if (!isResettable(from, to)) {
      const message = `The server's time ${say(from)} is not ahead of the wall clock: nothing to reset.`;
      return unchanged(refuse('clock_not_poisoned', message));
    }
    const restorations = licenses.map((view) => decideRestore(view, from, to, by));
    const restored = restorations.flatMap((one) => one.restored);
    const lost = restorations.flatMap((one) => one.lost);
    if (mode === 'careful' && lost.length > 0) return unchanged(refuseLosses(lost));
    const outcome = { kind: 'clock_reset', restored, lost } as const;
    if (mode === 'trial') return unchanged(outcome);
    return {
      outcome,
      changes: [
        { kind: 'move_clock', to },
        ...restorations.map((restoration) => ({ kind: 'restore_borrows', restoration }) as const),
        { kind: 'pull_back', from },
      ],
      events: [{ kind: 'clock_reset', from, to, by }],
    };
  },
} satisfies SystemModule<ResetClock>;

/** The vendor's files are dated and signed: it is certainly not earlier than the newest of them. */
export function chooseResetTime(wall: Instant, licenses: readonly License[]): Instant {
  const newestFileAt = Math.max(0, ...licenses.map(({ tie }) => tie.fileAt ?? 0));
  return later(wall, instant(newestFileAt));
}

/** A refusal names at most this many. */
const NAMED_LOSSES = 1000;

function refuseLosses(lost: readonly LostBorrow[]): Refused {
  const some = lost.length === 1 ? '1 borrow' : `${lost.length} borrows`;
  return refuse(
    'borrows_not_restorable',
    `A wrong clock ended ${some} that cannot be restored. Nothing was changed.`,
    { count: lost.length, borrows: lost.slice(0, NAMED_LOSSES) },
  );
}
