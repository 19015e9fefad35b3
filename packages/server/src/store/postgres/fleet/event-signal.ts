import type { PlaceKey } from '../../../core/outcome.ts';
import type { Turn } from '../../engine/line/waiting-line.ts';
import type { Connection } from '../wire/connection.ts';
import type { OnNotification } from '../wire/wire.ts';

const CHANNEL = 'berth_news';
/** Whose turn it is in the line, on another server. */
const TURNS = 'berth_turns';

/** PostgreSQL takes less than 8000 bytes. A name has 255 characters at most. */
const TURNS_AT_ONCE = 4;

/** At most ten a second: each makes every server read the log. */
const NOTIFY_INTERVAL_MS = 100;

export interface EventSignalOptions {
  /** Opens a connection of its own, which calls back for every notification. */
  open(onNotification: OnNotification): Promise<Connection>;
  onNews(): void;
  /** It is somebody's turn who waits on this server. */
  onTurns(keys: readonly PlaceKey[]): void;
  /** This server. */
  readonly serverId: string;
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

  /** Tells other servers whose turn it is. If it gets lost, they find out within a second. */
  tellTurns(turns: readonly Turn[]): void {
    const elsewhere = turns.filter(({ servers }) => servers.some((one) => one !== this.#options.serverId));
    const connection = this.#connection;
    if (connection === null || connection.isDead) return;
    for (let at = 0; at < elsewhere.length; at += TURNS_AT_ONCE) {
      const keys = elsewhere.slice(at, at + TURNS_AT_ONCE);
      const text = JSON.stringify({ from: this.#options.serverId, keys: keys.map(keyOf) });
      connection.query('SELECT pg_notify($1, $2)', [TURNS, text]).catch(() => {});
    }
  }

  #hear(channel: string, payload: string): void {
    if (channel !== TURNS) {
      this.#options.onNews();
      return;
    }
    const { from, keys } = JSON.parse(payload) as { from: string; keys: readonly PlaceKey[] };
    if (from !== this.#options.serverId) this.#options.onTurns(keys);
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
    const connection = await this.#options.open((channel, payload) => this.#hear(channel, payload));
    try {
      await Promise.all([connection.query(`LISTEN ${CHANNEL}`), connection.query(`LISTEN ${TURNS}`)]);
    } catch (error) {
      await connection.close();
      throw error;
    }
    this.#connection = connection;
    if (this.#isClosed) await connection.close();
  }
}

function keyOf({ product, feature, user }: PlaceKey): PlaceKey {
  return { product, feature, user };
}
