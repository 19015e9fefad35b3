import type { Socket } from 'node:net';
import type { Row } from '../../engine/rows.ts';
import { isFatal } from './database-error.ts';
import type { DatabaseTarget } from './database-url.ts';
import { encodeParameters, type Parameter } from './encode-parameter.ts';
import { Login } from './log-in.ts';
import {
  type Message,
  MessageReader,
  type ResultColumn,
  readColumns,
  readCount,
  readError,
  readNotification,
  readRow,
} from './message-reader.ts';
import { MessageWriter } from './message-writer.ts';

/** `count`: how many rows the statement touched, even if it returned none. */
export type Rows<R = Row> = R[] & { count: number };

/** A statement as the database knows it. */
interface Statement {
  readonly name: string;
  columns: readonly ResultColumn[];
}

/** A statement that was sent, and who waits for its answer. */
interface PendingStatement {
  readonly text: string;
  readonly parameters: readonly Parameter[];
  readonly rows: Rows;
  statement: Statement;
  resolve(rows: Rows): void;
  reject(error: unknown): void;
}

/** Statements that are answered together. */
interface Trip {
  readonly asked: readonly PendingStatement[];
  /** The statement that the next message is about. */
  current: number;
  error: Error | null;
}

export type OnNotification = (channel: string, payload: string) => void;

interface WireOptions {
  /** Whether statements are prepared once and used again. Some poolers do not support it. */
  readonly prepareStatements: boolean;
  /** Called for every notification on a channel that this connection listens to. */
  readonly onNotification: OnNotification;
  /** Called when a statement has failed, after its promise was rejected. */
  readonly onFailed: (error: unknown) => void;
  /** The database has ended the session, or sent something that cannot be understood. */
  readonly onBroken: (error: unknown) => void;
}

const UNNAMED: Statement = { name: '', columns: [] };

/**
 * Speaks with the database over a socket. Statements are sent without waiting for the answers of those before
 * them, and never again by themselves. Those of one round trip end with one Sync: the database answers all of
 * them with one write, and if one fails, it does not carry out the rest.
 */
export class Wire {
  readonly #socket: Socket;
  readonly #options: WireOptions;
  readonly #reader = new MessageReader();
  readonly #writer = new MessageWriter();
  /** By their text, as soon as the database has accepted them. */
  readonly #statements = new Map<string, Statement>();
  #named = 0;
  #login: Login | null = null;
  /** Those of the round trip that is being put together. */
  #gathered: PendingStatement[] | null = null;
  #due: Trip[] = [];

  constructor(socket: Socket, options: WireOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
  }

  /** Whether answers are due. */
  get isBusy(): boolean {
    return this.#due.length > 0;
  }

  /** Starts the session; nothing may be asked before. */
  logIn(target: DatabaseTarget): Promise<unknown> {
    const { user, database, startup } = target;
    this.#login = new Login(target);
    return new Promise((resolve, reject) => {
      this.#writer.start({ user, database, client_encoding: 'UTF8', ...startup });
      this.#expect([{ text: '', parameters: [], rows: noRows(), statement: UNNAMED, resolve, reject }]);
    });
  }

  /** Without parameters, and not sent `together`, a text may hold several statements. */
  query(text: string, parameters: readonly Parameter[]): Promise<Rows> {
    return new Promise((resolve, reject) => {
      const asked = { text, parameters, rows: noRows(), statement: UNNAMED, resolve, reject };
      if (this.#gathered !== null) this.#gathered.push(asked);
      else if (parameters.length === 0) this.#sendText(asked);
      else this.#send([asked]);
    });
  }

  /** Sends all statements that `ask` asks for in one round trip: either all of them succeed or none. */
  together<T>(ask: () => T): T {
    const gathered: PendingStatement[] = [];
    this.#gathered = gathered;
    try {
      return ask();
    } finally {
      this.#gathered = null;
      if (gathered.length > 0) this.#send(gathered);
      this.#flush();
    }
  }

  /** Fails whatever is not answered. */
  fail(error: Error): void {
    const due = this.#due;
    this.#due = [];
    for (const { asked } of due) for (const { reject } of asked) reject(error);
  }

  #send(asked: readonly PendingStatement[]): void {
    const encoded = encodeAll(asked);
    if (encoded === null) return;
    for (const [index, one] of asked.entries()) this.#write(one, encoded[index] ?? []);
    this.#writer.sync();
    this.#expect(asked);
  }

  #write(asked: PendingStatement, values: readonly (string | null)[]): void {
    const { text } = asked;
    const known = this.#statements.get(text);
    asked.statement = known ?? this.#newStatement();
    if (known === undefined) this.#writer.parse(asked.statement.name, text);
    this.#writer.run(asked.statement.name, values);
  }

  #newStatement(): Statement {
    return { name: this.#options.prepareStatements ? `berth_${++this.#named}` : '', columns: [] };
  }

  #sendText(asked: PendingStatement): void {
    asked.statement = { name: '', columns: [] };
    this.#writer.runAll(asked.text);
    this.#expect([asked]);
  }

  #expect(asked: readonly PendingStatement[]): void {
    this.#due.push({ asked, current: 0, error: null });
    // Those that are sent without waiting share a write.
    queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    if (!this.#writer.isEmpty && this.#socket.writable) this.#socket.write(this.#writer.take());
  }

  #receive(chunk: Buffer): void {
    try {
      for (const message of this.#reader.read(chunk)) this.#handle(message);
    } catch (error) {
      this.#options.onBroken(error);
    }
  }

  #handle(message: Message): void {
    switch (message.type) {
      case 'N': // notice
      case 'S': // setting
      case '2': // bound
      case 'n': // no rows
      case 't': // parameters
      case 'I': // nothing to run
      case 'K': // how to cancel
        return;
      case 'R':
        this.#answerLogin(message);
        return;
      case 'A':
        this.#options.onNotification(...readNotification(message));
        return;
      case 'E':
        this.#noteError(readError(message));
        return;
      case 'Z':
        this.#finish();
        return;
      default:
        this.#handleAnswer(message);
    }
  }

  #answerLogin(message: Message): void {
    const answer = this.#login?.answer(message) ?? null;
    if (answer === null) return;
    this.#writer.logIn(answer);
    this.#flush();
  }

  #handleAnswer(message: Message): void {
    const trip = this.#due[0];
    const asked = trip?.asked[trip.current];
    if (trip === undefined || asked === undefined) throw new Error(`Unexpected message ${message.type}.`);
    const { statement, rows, text } = asked;
    switch (message.type) {
      case '1':
        if (statement.name !== '') this.#statements.set(text, statement);
        return;
      case 'T':
        statement.columns = readColumns(message);
        return;
      case 'D':
        rows.push(readRow(message, statement.columns));
        return;
      case 'C':
        rows.count = readCount(message);
        // A text may hold several statements.
        if (trip.current < trip.asked.length - 1) trip.current++;
        return;
      default:
        throw new Error(`Unknown message ${message.type}.`);
    }
  }

  #noteError(error: Error): void {
    const trip = this.#due[0];
    if (trip !== undefined) trip.error = error;
    if (trip === undefined || isFatal(error)) this.#options.onBroken(error);
  }

  #finish(): void {
    const trip = this.#due.shift();
    if (trip === undefined) throw new Error('The database sent a message although no query is pending.');
    const { asked, error } = trip;
    for (const { resolve, reject, rows } of asked) {
      if (error === null) resolve(rows);
      else reject(error);
    }
    if (error !== null) this.#options.onFailed(error);
  }
}

function noRows(): Rows {
  return Object.assign([], { count: 0 });
}

/** `null` if a value cannot be encoded: then nothing is sent, and all of them fail. */
function encodeAll(asked: readonly PendingStatement[]): readonly (readonly (string | null)[])[] | null {
  try {
    return asked.map(({ parameters }) => encodeParameters(parameters));
  } catch (error) {
    for (const { reject } of asked) reject(error);
    return null;
  }
}
