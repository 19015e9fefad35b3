import { type Instant, instant, SECOND_MS } from '../../../core/nouns/instant.ts';

export interface DatabaseTimeOptions {
  /** Replaces the database's clock in tests. */
  readonly readWall: (() => Instant) | null;
  readonly readMonotonicMs: () => number;
}

/**
 * An estimate of the database's time, for lists and for planning reads. It decides nothing: every decision
 * uses the time that its own transaction has read. It holds the last time heard and counts on monotonically
 * from there, so it is behind by one trip at most and never needs the clock of this machine. After a lost
 * connection it simply counts on until the next transaction corrects it.
 */
export class DatabaseTime {
  readonly #options: DatabaseTimeOptions;
  #heard: { readonly now: number; readonly atMs: number };

  constructor(options: DatabaseTimeOptions) {
    this.#options = options;
    this.#heard = { now: 0, atMs: options.readMonotonicMs() };
  }

  estimate(): Instant {
    const { readWall, readMonotonicMs } = this.#options;
    const { now, atMs } = this.#heard;
    return instant(Math.max(now, readWall?.() ?? now + Math.floor(readMonotonicMs() - atMs)));
  }

  /** Takes the time of a transaction on some licenses. An earlier one comes from a license that waited. */
  hear(now: number): void {
    if (now >= this.estimate()) this.#set(now);
  }

  /** Takes the time of all servers together, which stands still for a clock set back and follows a reset. */
  follow(now: number): void {
    if (now >= this.estimate() || this.estimate() - now > SECOND_MS) this.#set(now);
  }

  #set(now: number): void {
    this.#heard = { now, atMs: this.#options.readMonotonicMs() };
  }
}
