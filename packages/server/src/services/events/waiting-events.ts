import { type AuditPosition, endOfLink, isAfter } from '../../core/nouns/audit-position.ts';
import type { SentEvent } from '../../receivers/event-receiver.ts';

export interface WaitingEvent extends SentEvent {
  readonly position: AuditPosition;
}

/** A part of the audit log: the events in it that are meant for a receiver. */
export interface Page {
  readonly events: readonly WaitingEvent[];
  readonly end: AuditPosition;
  /** There may be more. */
  readonly isFull: boolean;
}

type ReadPage = (after: AuditPosition) => Promise<Page>;

/** More are not counted. */
const MAX_WAITING = 1000;
/** How much one call reads. After a start, a receiver may be behind by a whole log. */
const MAX_PAGES = 20;

/**
 * Counts the events that wait for a receiver, and remembers where they are: each call only reads what is new,
 * and of a long log a part. What was thinned out counts until the receiver has got beyond it.
 */
export class WaitingEvents {
  #from = endOfLink(0);
  /** What comes after this is not counted yet. */
  #to = endOfLink(0);
  #kinds = '';
  #positions: readonly AuditPosition[] = [];

  /** `from`: how far the receiver has got; `kinds`: of the events that it is told. */
  async count(from: AuditPosition, kinds: string, readPage: ReadPage): Promise<number> {
    const isAnew = kinds !== this.#kinds || isAfter(this.#from, from);
    const positions = isAnew ? [] : this.#positions.filter((position) => isAfter(position, from));
    let to = isAnew || isAfter(from, this.#to) ? from : this.#to;
    for (let pages = 0; pages < MAX_PAGES && positions.length < MAX_WAITING; pages += 1) {
      const { events, end, isFull } = await readPage(to);
      for (const { position } of events) positions.push(position);
      to = end;
      if (!isFull) break;
    }
    // All at once: others may be counting, too.
    [this.#from, this.#to, this.#kinds, this.#positions] = [from, to, kinds, positions];
    return Math.min(positions.length, MAX_WAITING);
  }
}
