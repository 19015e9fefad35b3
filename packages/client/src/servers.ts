import { describeAddresses, isOfAddresses, readAddress } from './address.ts';
import {
  type Environment,
  NotSentError,
  type Tls,
  type WireAnswer,
  type WireRequest,
} from './environment.ts';
import { BerthError, DeniedError, type FailedAttempt, UnreachableError } from './errors.ts';
import { type Fields, isFromBerth, readFields, readStoreId } from './read-answer.ts';
import type { SteadyClock } from './steady-clock.ts';
import { readTls, type TlsOptions } from './tls.ts';
import { askForToken, readToken, type Token } from './token.ts';

/** An answer that is not a refusal. */
export interface Answer {
  readonly fields: Fields;
  /** By the steady clock, before the request left. */
  readonly sentAtMs: number;
  readonly date: string | null;
  /** The address of the server that has answered. */
  readonly server: string;
}

interface ServersOptions {
  readonly urls: readonly string[];
  readonly token: Token | null;
  readonly timeoutMs: number;
  readonly tls: TlsOptions;
}

export interface PostOptions {
  readonly headers?: Record<string, string>;
  /** Only to servers of this store: its public id, or `null` for one without. By default, to any. */
  readonly store?: string | null;
  /** For all servers together. By default, each has its own time. */
  readonly withinMs?: number;
  /** How long the server may keep the request waiting in line. */
  readonly waitMs?: number;
  /** Ends the wait for an answer. */
  readonly signal?: AbortSignal;
}

/** A server has read the request, but it may well accept it a little later. */
const TRY_LATER = new Set([408, 429]);
const KEY_SET = '/.well-known/jwks.json';

/** The servers that share the licenses. A request goes to the one that answered last, then to the others. */
export class Servers {
  readonly #environment: Environment;
  readonly #clock: SteadyClock;
  readonly #options: ServersOptions;
  /** The public ids of the stores by address. */
  readonly #stores = new Map<string, string | null>();
  readonly #addresses: string;
  readonly #tls: { readonly tls?: Tls };
  #current = 0;
  #token: string | null = null;

  constructor(environment: Environment, clock: SteadyClock, options: ServersOptions) {
    this.#environment = environment;
    this.#clock = clock;
    this.#options = { ...options, urls: options.urls.map(readAddress) };
    this.#addresses = describeAddresses(this.#options.urls);
    if (options.urls.length === 0) {
      throw new BerthError('invalid_option', 'There is no server.', 'Give "server": the address of Berth.');
    }
    const tls = readTls(environment, options.tls, this.#options.urls);
    this.#tls = tls === null ? {} : { tls };
    if (options.token !== null && typeof options.token !== 'function') this.#token = readToken(options.token);
  }

  /** Throws a `DeniedError` for a refusal and an `UnreachableError` if no server answers. */
  async post(path: string, body: object, options: PostOptions = {}): Promise<Answer> {
    const { headers = {}, store, withinMs = Number.POSITIVE_INFINITY, waitMs = 0, signal } = options;
    const ended = signal === undefined ? {} : { signal };
    const { token } = this.#options;
    const deadlineMs = this.#clock.readMs() + withinMs;
    if (typeof token === 'function') this.#token = await askForToken(token);
    const bound = typeof store === 'string' ? { ...body, store_id: store } : body;
    return this.#tryEach(async (server) => {
      if (store !== undefined) await this.#requireStore(server, store);
      const request = this.describe(path, bound, headers, server);
      const sentAtMs = this.#clock.readMs();
      const timeoutMs = Math.min(request.timeoutMs + waitMs, deadlineMs - sentAtMs);
      if (timeoutMs <= 0 || signal?.aborted === true) throw new NotSentError('no time was left');
      const answer = await this.#environment.send({ ...request, timeoutMs, ...ended });
      const { fields, date } = readAnswer(path, answer);
      return { fields, date, sentAtMs, server };
    });
  }

  /** The request as it would be sent now, with the last known token. */
  describe(
    path: string,
    body: object,
    headers: Record<string, string> = {},
    server = this.#url,
  ): WireRequest {
    return {
      url: `${server}/api/v4/${path}`,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(this.#token === null ? {} : { authorization: `Bearer ${this.#token}` }),
        ...headers,
      },
      body: JSON.stringify(body),
      timeoutMs: this.#options.timeoutMs,
      ...this.#tls,
    };
  }

  /** The public id of the store of the first server that answers; `null`: it has none. */
  findStore(): Promise<string | null> {
    return this.#tryEach((server) => this.#storeOf(server));
  }

  /** What names everything that is kept for a store. */
  bindingOf(store: string | null): string {
    return store ?? this.#addresses;
  }

  /**
   * The store that something was kept for: `undefined` if it was kept for these addresses. Throws if it was
   * kept for others.
   */
  storeOf(binding: string): string | undefined {
    if (!isOfAddresses(binding)) return binding;
    if (binding === this.#addresses) return undefined;
    throw refuseStore('It was kept for servers with other addresses.');
  }

  /** Whether the server at the address is known to be the one that something was kept for. */
  isKnownAs(binding: string, server: string): boolean {
    return this.bindingOf(this.#stores.get(server) ?? null) === binding;
  }

  /** The time of a server of this store; `null` if it does not tell. */
  readTimeMs(store: string | undefined): Promise<number | null> {
    return this.#tryEach(async (server) => {
      this.#stores.delete(server);
      const date = await this.#readKeySet(server);
      if (store !== undefined) await this.#requireStore(server, store);
      return Number.isNaN(Date.parse(date ?? '')) ? null : Date.parse(date ?? '');
    });
  }

  get #url(): string {
    return this.#options.urls[this.#current] as string;
  }

  async #requireStore(server: string, store: string | null): Promise<void> {
    if ((await this.#storeOf(server)) === store) return;
    throw refuseStore(`The license server at ${server} has other data.`);
  }

  async #storeOf(server: string): Promise<string | null> {
    if (!this.#stores.has(server)) await this.#readKeySet(server);
    return this.#stores.get(server) ?? null;
  }

  /** Notes the public id of the store, and returns the date of the answer. */
  async #readKeySet(server: string): Promise<string | null> {
    const { timeoutMs } = this.#options;
    const request = { method: 'GET', url: server + KEY_SET, headers: {}, body: '', timeoutMs } as const;
    const answer = await this.#environment.send({ ...request, ...this.#tls });
    assertFinal(answer);
    this.#stores.set(server, readStoreId(answer));
    return answer.date;
  }

  async #tryEach<Result>(ask: (server: string) => Promise<Result>): Promise<Result> {
    const { urls } = this.#options;
    const attempts: FailedAttempt[] = [];
    const causes: unknown[] = [];
    const first = this.#current;
    for (let tried = 0; tried < urls.length; tried++) {
      // Other requests may be under way, and may have moved on.
      const index = (first + tried) % urls.length;
      this.#current = index;
      const server = this.#url;
      try {
        const result = await ask(server);
        this.#current = index;
        return result;
      } catch (error) {
        if (error instanceof DeniedError && !isWrongStore(error)) throw error;
        this.#stores.delete(server);
        attempts.push(describeAttempt(server, error));
        causes.push(error);
      }
      this.#current = (index + 1) % urls.length;
    }
    if (causes.every(isWrongStore)) throw causes[0];
    const cause = causes.findLast((one) => !isWrongStore(one));
    throw new UnreachableError(attempts, cause, cause as { advice?: string });
  }
}

function describeAttempt(server: string, error: unknown): FailedAttempt {
  const reason = error instanceof Error ? error.message : String(error);
  return { server, reason, mayHaveArrived: !(error instanceof NotSentError || isWrongStore(error)) };
}

function refuseStore(message: string): DeniedError {
  return new DeniedError(400, { status: 400, code: 'wrong_store', message });
}

function isWrongStore(error: unknown): boolean {
  return error instanceof DeniedError && error.code === 'wrong_store';
}

/** Throws if the server might answer otherwise a little later. */
function assertFinal({ status, text }: WireAnswer): void {
  if (status < 500 && !TRY_LATER.has(status)) return;
  const { message } = readFields(text);
  const reason = typeof message === 'string' ? message : `HTTP status ${status}`;
  throw TRY_LATER.has(status) ? new NotSentError(reason) : new Error(reason);
}

function readAnswer(path: string, answer: WireAnswer): Pick<Answer, 'fields' | 'date'> {
  assertFinal(answer);
  const { status, text, date } = answer;
  const fields = readFields(text);
  const isFine = status >= 200 && status < 300;
  if (isFine && isFromBerth(path, fields, text)) return { fields, date };
  if (!isFine && typeof fields.code === 'string') throw new DeniedError(status, fields, answer);
  const reason = `HTTP status ${status}, and not from Berth`;
  // A proxy that refuses a request has not passed it on.
  throw status >= 400 ? new NotSentError(reason) : new Error(reason);
}
