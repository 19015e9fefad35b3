import type { Socket } from 'node:net';
import connect, { type ReservedSql, type Sql } from 'postgres';
import type { Row } from '../../engine/rows.ts';
import { ConnectionLost, isConnectionUseless } from './database-error.ts';
import type { DatabaseTarget } from './database-url.ts';
import { encodeParameters, type Parameter, WIRE_TYPES } from './encode-parameter.ts';

/** `count`: of how many rows the statement spoke, also if it answered none. */
export type Rows<R = Row> = R[] & { readonly count: number };

export interface ConnectionOptions {
  readonly target: DatabaseTarget;
  /** Whether statements may be prepared once and used again. Some poolers in front of a database cannot. */
  readonly prepareStatements: boolean;
  /** How long the other end may say nothing to what it was asked, until it counts as gone. */
  readonly answerTimeoutMs: number;
  /** Called for what others tell over a channel that this connection listens to. */
  readonly onTold?: () => void;
}

/** What the driver keeps a connection as. It shows it to the hook that its own transactions use. */
interface Wire {
  execute(query: { prepared: boolean }): unknown;
  terminate(): void;
}

type Reject = (error: unknown) => void;

/** After such a silence the system asks whether the other end is still there. */
const KEEP_ALIVE_SECONDS = 30;

const LOST = 'The connection to the database was lost. Try again in a moment.';
const SILENT = 'The database has not answered for too long. Try again in a moment.';

/** For a last word to a server that may no longer listen. */
const FAREWELL_MS = 1000;

/**
 * One connection to the database, from its opening to its end, and never another one. The driver has its own
 * idea of it: it connects again by itself, so that the rest of a transaction would be run outside of any; it
 * forgets what waits on a connection that closes; and it writes to one that has closed. None of it can
 * happen here, because it gets one socket only, is ended in the moment that socket ends, and is not asked
 * afterwards. Nor may it repeat anything.
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

  /** Speaks to the database over a socket that has just been opened. The signal cuts it off. */
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

  /** Whether nothing can be asked any more. */
  get isDead(): boolean {
    return this.#lost !== undefined;
  }

  /** Whether something was asked and is not answered yet. */
  get isBusy(): boolean {
    return this.#waiting.size > 0;
  }

  /**
   * Runs a statement. One that is asked before others are answered is sent behind them at once, and is
   * answered in turn. Every one is answered, if only by an error when the connection is lost. Without
   * parameters the text may have several statements; their answers are of no use then.
   */
  query<R = Row>(text: string, parameters: readonly Parameter[] = []): Promise<Rows<R>> {
    const answer = this.#wait(() => {
      if (this.#reserved === undefined) throw new Error('The connection is not open.');
      const encoded = encodeParameters(parameters);
      return this.#reserved.unsafe<Rows>(text, encoded as string[], { prepare: this.#prepare });
    });
    // Of several that fail together only one may be looked at; the others are no bugs.
    answer.catch(() => {});
    return answer as unknown as Promise<Rows<R>>;
  }

  /** Says good-bye; what has not been answered fails. */
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
    // Heard again and again: silence means nothing while nothing was asked, and everything later.
    this.#socket.setTimeout(answerTimeoutMs);
    this.#socket.on('timeout', () => {
      if (this.isBusy) this.#lose(SILENT);
    });
  }

  /** Its time-outs and its reconnecting are off, and what it takes from the environment is said here. */
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
      // The socket that it gets is encrypted already.
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

  /** The driver connects when it is first asked something, and only then lets go of the connection. */
  async #reserve(): Promise<void> {
    const onexecute = (wire: Wire) => {
      this.#wire = wire;
      forbidRepeating(wire);
      return true;
    };
    await this.#wait(() => this.#sql.unsafe('SELECT 1', [], { onexecute } as object));
    this.#reserved = (await this.#wait(() => this.#sql.reserve())) as ReservedSql;
  }

  /** What the driver answers, or an error when the connection is lost, which the driver may not tell. */
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
 * The driver repeats a statement that the server no longer has as it was prepared, and does so behind all
 * that was sent meanwhile, be it the end of the transaction. It repeats what is marked as prepared, and looks
 * at the mark for nothing else once it is sent.
 */
function forbidRepeating(wire: Wire): void {
  const { execute } = wire;
  wire.execute = (query) => {
    const mayGoOn = execute(query);
    query.prepared = false;
    return mayGoOn;
  };
}
