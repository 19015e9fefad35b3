import type { Connection } from '../wire/connection.ts';

const CHANNEL = 'berth_news';

/** At most ten a second: each wakes everybody, and everybody reads. */
const TELL_INTERVAL_MS = 100;

export interface NewsOptions {
  /** A connection of its own, which calls when it is told something. */
  open(onTold: () => void): Promise<Connection>;
  onNews(): void;
}

/**
 * Tells the other servers that there are new events, and hears it from them. Not within the transactions that
 * write events: PostgreSQL lets such commits through one at a time only. What is told says nothing but that
 * there is something to read, and may get lost: whoever follows the log looks by itself every now and then,
 * as it must where a pooler stands before the database.
 */
export class News {
  readonly #options: NewsOptions;
  #connection: Connection | null = null;
  #opening: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #hasMore = false;
  #isClosed = false;

  constructor(options: NewsOptions) {
    this.#options = options;
  }

  /**
   * Listens, anew when the connection was lost. It fails silently: it is tried again, and nothing depends on
   * it.
   */
  listen(): Promise<void> {
    if (this.#connection?.isDead === false || this.#isClosed) return Promise.resolve();
    this.#opening ??= this.#open()
      .catch(() => {})
      .finally(() => {
        this.#opening = null;
      });
    return this.#opening;
  }

  /** There are new events here. */
  tell(): void {
    this.#hasMore = true;
    if (this.#timer !== null || this.#isClosed) return;
    this.#send();
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.#hasMore) this.tell();
    }, TELL_INTERVAL_MS);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#opening;
    await this.#connection?.close();
  }

  #send(): void {
    this.#hasMore = false;
    const connection = this.#connection;
    if (connection === null || connection.isDead) this.#options.onNews();
    else connection.query(`NOTIFY ${CHANNEL}`).catch(() => this.#options.onNews());
  }

  async #open(): Promise<void> {
    const connection = await this.#options.open(() => this.#options.onNews());
    try {
      await connection.query(`LISTEN ${CHANNEL}`);
    } catch (error) {
      await connection.close();
      throw error;
    }
    this.#connection = connection;
    if (this.#isClosed) await connection.close();
  }
}
