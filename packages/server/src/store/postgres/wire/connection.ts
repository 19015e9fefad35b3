import type { Socket } from 'node:net';
import { Fault } from '../../../core/nouns/fault.ts';
import type { Row } from '../../engine/rows.ts';
import { ConnectionLost, DatabaseError, isConnectionUseless } from './database-error.ts';
import type { DatabaseTarget } from './database-url.ts';
import type { Parameter } from './encode-parameter.ts';
import { type OnNotification, type Rows, Wire } from './wire.ts';

export interface ConnectionOptions {
  readonly target: DatabaseTarget;
  /** Whether statements are prepared once and used again. Some poolers do not support it. */
  readonly prepareStatements: boolean;
  /** How long the database may be silent while answers are due, before the connection counts as lost. */
  readonly answerTimeoutMs: number;
  /** Called for every notification on a channel that this connection listens to. */
  readonly onNotification?: OnNotification;
}

/** Which history of a database is written: each promotion of a standby begins a new timeline. */
export interface Lineage {
  /** The same for a primary and its standbys. */
  readonly system: string;
  readonly timeline: number;
}

/** After this long without traffic, TCP checks that the other end is still there. */
const KEEP_ALIVE_MS = 30_000;

const LOST = 'The connection to the database was lost. Try again in a moment.';
const SILENT = 'The database has not answered for too long. Try again in a moment.';

/** How long closing may take. */
const CLOSE_TIMEOUT_MS = 1000;

/** Tells the database that nothing more will come. */
const TERMINATE = Uint8Array.of('X'.charCodeAt(0), 0, 0, 0, 4);

/** One connection to the database, from its opening to its end. */
export class Connection {
  /** As of when it was opened; null if the database does not tell. */
  lineage: Lineage | null = null;
  readonly #socket: Socket;
  readonly #wire: Wire;
  readonly #closed: Promise<void>;
  #lost: ConnectionLost | undefined;

  private constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    const { prepareStatements, onNotification = () => {} } = options;
    this.#wire = new Wire(socket, {
      prepareStatements,
      onNotification,
      onFailed: (error) => {
        if (isConnectionUseless(error)) this.#lose(LOST, error);
      },
      onBroken: (error) => this.#lose(LOST, error),
    });
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
      await connection.#wire.logIn(options.target);
      return connection;
    } catch (error) {
      connection.#lose(LOST, error);
      const { cause } = error as Error;
      throw cause instanceof DatabaseError || cause instanceof Fault ? cause : error;
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
    return this.#wire.isBusy;
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
    return this.#wire.query(text, parameters);
  }

  /**
   * Sends the statements that `send` asks for in one round trip; each text is a single one. If one fails,
   * those after it are not carried out, and all of them fail. A transaction stays open then.
   */
  together<T>(send: () => T): T {
    return this.#wire.together(send);
  }

  /** Closes the connection; queries that were not answered fail. */
  async close(): Promise<void> {
    this.#end('The connection to the database was closed.');
    if (this.#socket.writable) this.#socket.write(TERMINATE);
    this.#socket.destroySoon();
    const late = setTimeout(() => this.#socket.destroy(), CLOSE_TIMEOUT_MS);
    await this.#closed;
    clearTimeout(late);
  }

  #watch(answerTimeoutMs: number): void {
    if (this.#socket.destroyed) this.#lose(LOST);
    this.#socket.on('error', (error) => this.#lose(LOST, error));
    this.#socket.on('close', () => this.#lose(LOST));
    this.#socket.setKeepAlive(true, KEEP_ALIVE_MS);
    // It fires again and again: silence only matters while answers are due.
    this.#socket.setTimeout(answerTimeoutMs);
    this.#socket.on('timeout', () => {
      if (this.isBusy) this.#lose(SILENT);
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
    this.#wire.fail(lost);
  }
}
