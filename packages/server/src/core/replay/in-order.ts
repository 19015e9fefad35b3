import type { RecordedEvent } from '../nouns/audit-event.ts';
import { type Instant, instant, MINUTE_MS, SECOND_MS } from '../nouns/instant.ts';
import type { ReplayedLink } from './look-back.ts';

/** An event, and when it took effect. */
export interface LoggedEvent {
  readonly at: Instant;
  readonly chain: number;
  readonly event: RecordedEvent;
  /** The slot was lent by this borrow. */
  readonly borrowedUntil: Instant | null;
}

/** Ends are recorded when they are found; the sweeper finds them within this time. */
const LATE_MS = 2 * MINUTE_MS;

/** So much is replayed at once: other requests wait for it. */
const STEP_MS = 5 * SECOND_MS;

/**
 * Puts events in the order in which they took effect: a slot is free from its end on, and not from when
 * somebody notices. Keeps some minutes of events.
 */
export class InOrder {
  #waiting: LoggedEvent[] = [];
  #nextAt = 0;

  /** The oldest first. Returns what no later link can come before. */
  take({ chain, at, events }: ReplayedLink): readonly LoggedEvent[] {
    for (const [index, event] of events.entries()) {
      const before = events[index - 1];
      const after = events[index + 1];
      if (event.kind === 'slot_borrowed' && before?.kind === 'slot_lent' && before.user === event.user)
        continue;
      const isBorrow =
        event.kind === 'slot_lent' && after?.kind === 'slot_borrowed' && after.user === event.user;
      const effect = 'endedAt' in event ? (event.endedAt as Instant) : at;
      this.#waiting.push({ at: effect, chain, event, borrowedUntil: isBorrow ? after.borrowedUntil : null });
    }
    if (at < this.#nextAt) return [];
    this.#nextAt = at + STEP_MS;
    return this.#release(instant(at - LATE_MS));
  }

  end(): readonly LoggedEvent[] {
    return this.#release(instant(Number.MAX_SAFE_INTEGER));
  }

  /** Sorting keeps the order of events with the same time, except that what ends then is free by then. */
  #release(upTo: Instant): readonly LoggedEvent[] {
    const sorted = this.#waiting.sort((a, b) => a.at - b.at || rankOf(a) - rankOf(b));
    const late = sorted.findIndex(({ at }) => at > upTo);
    if (late < 0) this.#waiting = [];
    else this.#waiting = sorted.slice(late);
    return late < 0 ? sorted : sorted.slice(0, late);
  }
}

function rankOf({ event }: LoggedEvent): number {
  return 'endedAt' in event ? 0 : 1;
}
