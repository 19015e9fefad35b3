import type { Socket } from 'node:net';
import connect, { type Sql } from 'postgres';
import type { Row } from '../../engine/rows.ts';
import { ConnectionLost, isConnectionUseless } from './database-error.ts';
import type { DatabaseTarget } from './database-url.ts';
import type { Parameter } from './encode-parameter.ts';
import { type Rows, Wire } from './wire.ts';

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
interface DriverConnection {
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
 * One connection to the database, from its opening to its end. The driver logs in; from then on statements
 * are sent by `Wire`. The driver costs several times more for each statement and has the database answer
 * after each; left alone, it would reconnect by itself and run the rest of a transaction outside of it.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  /** Who waits for the driver. */
  readonly #waiting = new Set<Reject>();
  readonly #closed: Promise<void>;
  #driver: DriverConnection | undefined;
  #wire: Wire | undefined;
  #lost: ConnectionLost | undefined;

  private constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#closed = new Promise((resolve) => {
      if (socket.closed) resolve();
      else socket.once('close', () => resolve());
    });
    this.#watch(options.answerTimeoutMs);
  }

  /** Logs in over a socket that has just been opened. The signal aborts it. */
  static async open(socket: Socket, options: ConnectionOptions, signal: AbortSignal): Promise<Connection> {
    const connection = new Connection(socket, options);
    const abort = () => connection.#lose('The database did not answer in time. Check that it runs.');
    signal.addEventListener('abort', abort);
    try {
      await connection.#logIn();
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
    return this.#waiting.size > 0 || this.#wire?.isBusy === true;
  }

  /**
   * Runs a statement. It is sent at once, even if earlier answers are due, and answered in order. If the
   * connection is lost, it fails. Without parameters, the text may hold several statements; then the result
   * means nothing.
   */
  query<R = Row>(text: string, parameters: readonly Parameter[] = []): Promise<Rows<R>> {
    const answer = this.#ask(text, parameters);
    // The caller may look at only one of several that fail together.
    answer.catch(() => {});
    return answer as unknown as Promise<Rows<R>>;
  }

  #ask(text: string, parameters: readonly Parameter[]): Promise<Rows> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    if (this.#wire === undefined) return Promise.reject(new Error('The connection is not open.'));
    return this.#wire.query(text, parameters);
  }

  /**
   * Sends the statements that `send` asks for in one round trip; each text is a single one. If one fails,
   * those after it are not carried out, and all of them fail. A transaction stays open then.
   */
  together<T>(send: () => T): T {
    return this.#wire === undefined ? send() : this.#wire.together(send);
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
  #startDriver({ target }: ConnectionOptions): Sql {
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
      fetch_types: false,
      prepare: false,
      connect_timeout: 0,
      idle_timeout: null,
      max_lifetime: null,
      backoff: 0,
      keep_alive: KEEP_ALIVE_SECONDS,
      debug: false,
      onnotice: () => {},
    };
    return connect(options as object);
  }

  /** The driver logs in at the first query. After that it hears nothing more from the database. */
  async #logIn(): Promise<void> {
    const sql = this.#startDriver(this.#options);
    const onexecute = (driver: DriverConnection) => {
      this.#driver = driver;
      return true;
    };
    await this.#wait(() => sql.unsafe('SELECT 1', [], { onexecute } as object));
    const { prepareStatements, onTold = () => {} } = this.#options;
    this.#socket.removeAllListeners('data');
    this.#wire = new Wire(this.#socket, {
      prepareStatements,
      onTold,
      onFailed: (error) => {
        if (isConnectionUseless(error)) this.#lose(LOST, error);
      },
      onBroken: (error) => this.#lose(LOST, error),
    });
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
    this.#wire?.fail(lost);
    this.#driver?.terminate();
  }
}
