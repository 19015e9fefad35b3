import type { Socket } from 'node:net';
import connect, { type ReservedSql, type Sql } from 'postgres';
import type { Row } from '../../engine/rows.ts';
import { ConnectionLost, isConnectionUseless } from './database-error.ts';
import type { DatabaseTarget } from './database-url.ts';
import { encodeParameters, type Parameter, WIRE_TYPES } from './encode-parameter.ts';

/** `count`: how many rows the statement touched, even if it returned none. */
type Rows<R = Row> = R[] & { readonly count: number };

export interface ConnectionOptions {
  readonly target: DatabaseTarget;
  /** Whether statements are prepared once and used again. Some poolers do not support it. */
  readonly prepareStatements: boolean;
  /** How long the database may be silent while answers are due, before the connection counts as lost. */
  readonly answerTimeoutMs: number;
  /** Called for every notification on a channel that this connection listens to. */
  readonly onTold?: () => void;
}

/** The driver's own connection object, as its hook for transactions shows it. */
interface Wire {
  execute(query: { prepared: boolean }): unknown;
  terminate(): void;
}

type Reject = (error: unknown) => void;

/** After this long without traffic, TCP checks that the other end is still there. */
const KEEP_ALIVE_SECONDS = 30;

const LOST = 'The connection to the database was lost. Try again in a moment.';
const SILENT = 'The database has not answered for too long. Try again in a moment.';

/** How long closing may take. */
const FAREWELL_MS = 1000;

/**
 * Ends a statement that must not wait. The driver keeps what is shorter than this until the event loop has
 * taken another turn, in which the server may read a hundred requests while the transaction holds its locks.
 */
export const AT_ONCE = ' '.repeat(1024);

/**
 * One connection to the database, from its opening to its end. Left alone, the driver would reconnect by
 * itself and run the rest of a transaction outside of it; it would forget queries that wait on a connection
 * that closes; it would write to a closed one; and it would repeat statements. None of this can happen here:
 * the driver gets a single socket, ends when that socket does, and is not asked afterwards.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #sql: Sql;
  readonly #prepare: boolean;
  readonly #waiting = new Set<Reject>();
  readonly #closed: Promise<void>;
  #reserved: ReservedSql | undefined;
  #wire: Wire | undefined;
  #lost: ConnectionLost | undefined;

  private constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#prepare = options.prepareStatements;
    this.#closed = new Promise((resolve) => {
      if (socket.closed) resolve();
      else socket.once('close', () => resolve());
    });
    this.#watch(options.answerTimeoutMs);
    this.#sql = this.#startDriver(options);
  }

  /** Logs in over a socket that has just been opened. The signal aborts it. */
  static async open(socket: Socket, options: ConnectionOptions, signal: AbortSignal): Promise<Connection> {
    const connection = new Connection(socket, options);
    const abort = () => connection.#lose('The database did not answer in time. Check that it runs.');
    signal.addEventListener('abort', abort);
    try {
      await connection.#reserve();
      return connection;
    } catch (error) {
      connection.#lose('The connection to the database could not be opened.', error);
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Whether the connection is lost or closed. */
  get isDead(): boolean {
    return this.#lost !== undefined;
  }

  /** Whether answers are due. */
  get isBusy(): boolean {
    return this.#waiting.size > 0;
  }

  /**
   * Runs a statement. It is sent at once, even if earlier answers are due, and answered in order. If the
   * connection is lost, it fails. Without parameters, the text may hold several statements; then the result
   * means nothing.
   */
  query<R = Row>(text: string, parameters: readonly Parameter[] = []): Promise<Rows<R>> {
    const answer = this.#wait(() => {
      if (this.#reserved === undefined) throw new Error('The connection is not open.');
      const encoded = encodeParameters(parameters);
      return this.#reserved.unsafe<Rows>(text, encoded as string[], { prepare: this.#prepare });
    });
    // The caller may look at only one of several that fail together.
    answer.catch(() => {});
    return answer as unknown as Promise<Rows<R>>;
  }

  /** Sends all statements of a round trip in one write, and at once if the last one is `AT_ONCE`. */
  together<T>(send: () => T): T {
    this.#socket.cork();
    try {
      return send();
    } finally {
      this.#socket.uncork();
    }
  }

  /** Closes the connection; queries that were not answered fail. */
  async close(): Promise<void> {
    this.#end('The connection to the database was closed.');
    this.#socket.destroySoon();
    const late = setTimeout(() => this.#socket.destroy(), FAREWELL_MS);
    await this.#closed;
    clearTimeout(late);
  }

  #watch(answerTimeoutMs: number): void {
    if (this.#socket.destroyed) this.#lose(LOST);
    this.#socket.on('error', (error) => this.#lose(LOST, error));
    this.#socket.on('close', () => this.#lose(LOST));
    // It fires again and again: silence only matters while answers are due.
    this.#socket.setTimeout(answerTimeoutMs);
    this.#socket.on('timeout', () => {
      if (this.isBusy) this.#lose(SILENT);
    });
  }

  /** Turns off the driver's timeouts and reconnecting, and everything it would take from the environment. */
  #startDriver({ target, onTold = () => {} }: ConnectionOptions): Sql {
    let isTaken = false;
    const options = {
      host: [target.host],
      port: [target.port],
      user: target.user,
      ...(target.password === null ? {} : { pass: target.password }),
      database: target.database,
      connection: target.startup,
      socket: () => {
        if (isTaken) throw new ConnectionLost(LOST);
        isTaken = true;
        return this.#socket;
      },
      // The socket is encrypted already.
      ssl: false,
      sslnegotiation: null,
      max: 1,
      max_pipeline: 100,
      fetch_types: false,
      prepare: this.#prepare,
      connect_timeout: 0,
      idle_timeout: null,
      max_lifetime: null,
      backoff: 0,
      keep_alive: KEEP_ALIVE_SECONDS,
      debug: false,
      onnotice: () => {},
      onnotify: () => onTold(),
      types: WIRE_TYPES,
    };
    return connect(options as object);
  }

  /** The driver connects at the first query; only then can the connection be reserved. */
  async #reserve(): Promise<void> {
    const onexecute = (wire: Wire) => {
      this.#wire = wire;
      forbidRepeating(wire);
      return true;
    };
    await this.#wait(() => this.#sql.unsafe('SELECT 1', [], { onexecute } as object));
    this.#reserved = (await this.#wait(() => this.#sql.reserve())) as ReservedSql;
  }

  /** The driver's answer, or an error if the connection is lost, which the driver may not report. */
  #wait(ask: () => PromiseLike<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#lost !== undefined) throw this.#lost;
      const answer = ask();
      this.#waiting.add(reject);
      answer.then(
        (value) => {
          this.#waiting.delete(reject);
          resolve(value);
        },
        (error) => {
          this.#waiting.delete(reject);
          reject(error);
          if (isConnectionUseless(error)) this.#lose(LOST, error);
        },
      );
    });
  }

  #lose(message: string, cause?: unknown): void {
    this.#end(message, cause);
    this.#socket.destroy();
  }

  #end(message: string, cause?: unknown): void {
    if (this.#lost !== undefined) return;
    const lost = new ConnectionLost(message, { cause });
    this.#lost = lost;
    for (const reject of this.#waiting) reject(lost);
    this.#waiting.clear();
    this.#wire?.terminate();
  }
}

/**
 * The driver repeats a prepared statement that the server no longer knows, behind everything sent meanwhile,
 * which may include the end of the transaction. It does so for statements marked as prepared, and uses the
 * mark for nothing else once they are sent.
 */
function forbidRepeating(wire: Wire): void {
  const { execute } = wire;
  wire.execute = (query) => {
    const mayGoOn = execute(query);
    query.prepared = false;
    return mayGoOn;
  };
}
