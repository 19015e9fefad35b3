import type { Connection } from '../wire/connection.ts';

const CHANNEL = 'berth_news';

/** At most ten a second: each makes every server read the log. */
const NOTIFY_INTERVAL_MS = 100;

interface EventSignalOptions {
  /** Opens a connection of its own, which calls back for every notification. */
  open(onTold: () => void): Promise<Connection>;
  onNews(): void;
}

/**
 * Tells the other servers that there are new events, and hears it from them (NOTIFY and LISTEN). It does not
 * do so within the transactions that write events, because PostgreSQL commits such transactions one at a
 * time. A notification only says that there is something to read, and may get lost: whoever follows the log
 * also polls it, as it must behind a pooler.
 */
export class EventSignal {
  readonly #options: EventSignalOptions;
  #connection: Connection | null = null;
  #opening: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #hasMore = false;
  #isClosed = false;

  constructor(options: EventSignalOptions) {
    this.#options = options;
  }

  /** Listens, again if the connection was lost. Failures are silent: nothing depends on it. */
  listen(): Promise<void> {
    if (this.#connection?.isDead === false || this.#isClosed) return Promise.resolve();
    this.#opening ??= this.#open()
      .catch(() => {})
      .finally(() => {
        this.#opening = null;
      });
    return this.#opening;
  }

  /** Tells the others that this server has written events. */
  notify(): void {
    this.#hasMore = true;
    if (this.#timer !== null || this.#isClosed) return;
    this.#send();
    this.#timer = setTimeout(() => {
      this.#timer = null;
      if (this.#hasMore) this.notify();
    }, NOTIFY_INTERVAL_MS);
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
