import { Fault } from '../../../core/nouns/fault.ts';
import type { PoolUse } from '../../store-tally.ts';
import type { Connection } from './connection.ts';
import { type OpeningOptions, openConnection } from './database.ts';

export interface PoolOptions extends OpeningOptions {
  /** Most connections at a time. */
  readonly max: number;
  /** How long to wait for a connection while all are in use. */
  readonly acquireTimeoutMs: number;
  /** Opens a connection; tests keep some for the next pool. */
  readonly open?: typeof openConnection | undefined;
}

interface Waiter {
  enter(): void;
  leave(error: Fault): void;
}

/**
 * Connections that are opened when needed and kept. There are as many places as there may be connections;
 * whoever gets a place takes an idle connection or opens a new one. So a connection that cannot be opened
 * only fails the caller who wanted it.
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

  /** The caller must release it. */
  async acquire(): Promise<Connection> {
    await this.#takePlace();
    try {
      const { open = openConnection } = this.#options;
      return this.#takeIdle() ?? (await open(this.#options));
    } catch (error) {
      this.#freePlace();
      throw error;
    }
  }

  /** Drops a connection that is lost, or that has answers due: the next caller would get them. */
  release(connection: Connection): void {
    // The idle ones are most likely lost too, and each would have to time out by itself.
    if (connection.isDead) void this.#closeIdle();
    if (connection.isBusy || this.#closing !== undefined) void connection.close();
    else if (!connection.isDead) this.#idle.push(connection);
    this.#freePlace();
  }

  /** `work` must leave no transaction open. */
  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.acquire();
    try {
      return await work(connection);
    } finally {
      this.release(connection);
    }
  }

  describe(): Omit<PoolUse, 'name'> {
    const { max } = this.#options;
    return { max, inUse: this.#taken, idle: this.#idle.length, waiting: this.#waiters.size };
  }

  /** Resolves when all work under way is done. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const waiter of this.#waiters) waiter.leave(stoppingFault());
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

  /** The one used last: others are more likely to have been closed for being idle. */
  #takeIdle(): Connection | undefined {
    for (let found = this.#idle.pop(); found !== undefined; found = this.#idle.pop()) {
      if (!found.isDead) return found;
    }
    return undefined;
  }

  async #takePlace(): Promise<void> {
    if (this.#closing !== undefined) throw stoppingFault();
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

  /** Gives the place to whoever has waited longest. */
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

export function stoppingFault(): Fault {
  return new Fault('store_unavailable', 'The server is stopping.');
}
