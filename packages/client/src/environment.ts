/** Everything that the client needs from its surroundings. Tests simulate it. */
export interface Environment {
  /** Never set, but on some systems it stands still while the machine sleeps. */
  readMonotonicMs(): number;
  /** May be set at any time. */
  readWallMs(): number;
  /** In [0, 1). */
  random(): number;
  /** 128 random bits as text, different every time. */
  createId(): string;
  /** Returns a function that cancels the timer. A timer in the background does not keep a program running. */
  setTimer(delayMs: number, work: () => void, place: 'background' | 'foreground'): () => void;
  /** Throws if the certificates cannot be used. */
  checkTls(tls: Tls): void;
  /** Rejects if no answer arrives in time, with a `NotSentError` if the request did not even leave. */
  send(request: WireRequest): Promise<WireAnswer>;
  /** Where borrows and queued consumption are kept. */
  readonly storage: Storage;
  readonly host: Host;
  /** What identifies the computer to its operating system; `null` if nothing does. */
  findDevice(): Promise<string | null>;
  /** Calls the guard when the program ends. Returns a function that takes the guard back. */
  guardExit(guard: ExitGuard): () => void;
  /** Reports an error that a listener of the application has thrown. */
  reportError(error: unknown): void;
}

export interface WireRequest {
  readonly url: string;
  /** By default, `POST`. A `GET` has no body. */
  readonly method?: 'GET';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
  readonly tls?: Tls;
  /** Ends the wait for the answer. */
  readonly signal?: AbortSignal;
}

/** Certificates for the connections to the servers, each as PEM or as the name of a file. */
export interface Tls {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** The request has certainly not reached the server, because there was no connection. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
}

export interface WireAnswer {
  readonly status: number;
  readonly text: string;
  /** The value of `Date`, if it can be read. */
  readonly date: string | null;
  /** The value of `Retry-After`, if there is one. */
  readonly retryAfter?: string | null;
  /** The value of `Preference-Applied`, if there is one. */
  readonly applied?: string | null;
}

/** Small texts by name. A text that was written is still there after a crash. */
export interface Storage {
  read(name: string): Promise<string | null>;
  write(name: string, text: string): Promise<void>;
  /** Does nothing if there is no such text. */
  remove(name: string): Promise<void>;
  /** The names that start with the prefix, sorted. */
  list(prefix: string): Promise<readonly string[]>;
}

export interface Host {
  /** `null` if it cannot be found out, as in browsers. */
  readonly hostname: string | null;
  readonly osUser: string | null;
  /** Tells programs on the same host apart: the process id, where there is one. */
  readonly instance: string | null;
}

export interface ExitGuard {
  /** Returns the slot, as far as there is time. */
  release(): Promise<unknown>;
  /** What has to be sent to return the slot, for a program that has no time left; `null`: nothing. */
  describeRelease(): WireRequest | null;
}
