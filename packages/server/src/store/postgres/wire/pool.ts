import { Fault } from '../../../core/nouns/fault.ts';
import type { Connection } from './connection.ts';
import { type OpeningOptions, openConnection } from './database.ts';

export interface PoolOptions extends OpeningOptions {
  /** How many connections there are at most. */
  readonly max: number;
  /** How long somebody waits for a connection when all are in use. */
  readonly acquireTimeoutMs: number;
}

/** Somebody who waits until a place is free. */
interface Waiter {
  enter(): void;
  leave(error: Fault): void;
}

/**
 * Connections for all who need one, opened when needed and kept. A place comes before a connection: there are
 * as many places as there may be connections, and who has one takes a connection that lies idle or opens one.
 * So a connection that cannot be opened fails the one who wanted it, and nobody else.
 */
export class Pool {
  readonly #options: PoolOptions;
  readonly #idle: Connection[] = [];
  readonly #waiters = new Set<Waiter>();
  #taken = 0;
  #closing: Promise<void> | undefined;
  #whenEmpty: () => void = () => {};

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Every one must be given back. */
  async acquire(): Promise<Connection> {
    await this.#takePlace();
    try {
      return this.#takeIdle() ?? (await openConnection(this.#options));
    } catch (error) {
      this.#freePlace();
      throw error;
    }
  }

  /** One that is lost is dropped, and so is one of which answers are due: the next one would get them. */
  release(connection: Connection): void {
    // What has cut this one off has most likely cut off the others too, and each would be waited for anew.
    if (connection.isDead) void this.#closeIdle();
    if (connection.isBusy || this.#closing !== undefined) void connection.close();
    else if (!connection.isDead) this.#idle.push(connection);
    this.#freePlace();
  }

  /** Whoever works on it leaves it outside of any transaction. */
  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.acquire();
    try {
      return await work(connection);
    } finally {
      this.release(connection);
    }
  }

  /** Waits until all work under way is done. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const waiter of this.#waiters) waiter.leave(closedFault());
    const empty = new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
    });
    if (this.#taken === 0) this.#whenEmpty();
    await this.#closeIdle();
    await empty;
  }

  async #closeIdle(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map((connection) => connection.close()));
  }

  /** The one that was used last: others may have been closed for lying idle. */
  #takeIdle(): Connection | undefined {
    for (let found = this.#idle.pop(); found !== undefined; found = this.#idle.pop()) {
      if (!found.isDead) return found;
    }
    return undefined;
  }

  async #takePlace(): Promise<void> {
    if (this.#closing !== undefined) throw closedFault();
    if (this.#taken < this.#options.max) {
      this.#taken++;
      return;
    }
    await this.#waitForPlace();
  }

  #waitForPlace(): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
        settle();
      };
      const waiter: Waiter = {
        enter: () => end(resolve),
        leave: (error) => end(() => reject(error)),
      };
      const timer = setTimeout(() => waiter.leave(busyFault(this.#options)), this.#options.acquireTimeoutMs);
      this.#waiters.add(waiter);
    });
  }

  /** The place goes to the one who has waited longest. */
  #freePlace(): void {
    const [next] = this.#waiters;
    if (next === undefined) this.#taken--;
    else next.enter();
    if (this.#taken === 0) this.#whenEmpty();
  }
}

function busyFault({ max, acquireTimeoutMs }: PoolOptions): Fault {
  return new Fault(
    'store_unavailable',
    `All ${max} connections to the database were in use for ${acquireTimeoutMs / 1000} seconds. ` +
      'Try again in a moment.',
  );
}

function closedFault(): Fault {
  return new Fault('store_unavailable', 'The server is stopping.');
}
