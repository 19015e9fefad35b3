import { NONCE_HEADER } from '@berth/protocol/cloud/cloud-binding';
import type { Answer, Fault, Request } from '../../support/chaos/chaos-fault.ts';
import { forward } from '../../support/chaos/chaos-message.ts';
import { pickOne, type Random } from '../../support/random.ts';
import { type Fields, findHeader, type Operation, readFields, readOperation } from './messages.ts';
import { FORGERY, TRICKS, type Trick } from './tricks.ts';
import { findStop, type SignedFile, type Stop, type Terms, type Vendor } from './vendor.ts';

/** One request of a server, as somebody on the way sees it. */
export interface Exchange {
  /** The hardware id of the server that asks. */
  readonly server: string;
  readonly operation: Operation;
  readonly key: string;
  readonly fields: Fields;
  readonly request: Request;
}

/** An answer of the cloud, and what was true when it was given. */
export interface Recorded extends Exchange {
  readonly answer: Answer;
  readonly terms: Terms;
  readonly stop: Stop | null;
}

interface MiddleOptions {
  readonly url: string;
  readonly vendor: Vendor;
  readonly random: Random;
  /** The names of the only tricks that are played; by default all are. */
  readonly only?: readonly string[];
}

/** Which share of the exchanges is meddled with. */
const TRICK_SHARE = 0.6;
/** Of the tricks that can be played, one of those that were played least is. */
const LEAST_PLAYED = 4;
/** Enough to choose from: the first answers of each kind, and the newest. */
const KEPT_FIRST = 8;
const KEPT_LAST = 24;

interface Parked {
  readonly answer: Answer;
  readonly swap: (other: Answer) => void;
}

/** The man in the middle: sees every exchange, keeps every answer, and plays tricks. */
export class Middle {
  readonly vendor: Vendor;
  readonly random: Random;
  /** How often each trick was played. */
  readonly played = new Map<string, number>();
  /** What was played since somebody last asked. */
  readonly recent: string[] = [];
  /** Files that the vendor has handed out, by key and hardware id. */
  readonly files = new Map<string, SignedFile[]>();
  /** Requests that the cloud has not got yet. */
  readonly late: Exchange[] = [];
  isHonest = true;
  exchanges = 0;
  /** How many pieces of work are under way on the servers. */
  running = 0;
  readonly #url: string;
  readonly #tricks: readonly Trick[];
  readonly #archive = new Map<string, { first: Recorded[]; last: Recorded[] }>();
  readonly #ending = new AbortController();
  #parked: Parked | null = null;

  constructor({ url, vendor, random, only }: MiddleOptions) {
    this.#url = url;
    this.vendor = vendor;
    this.random = random;
    this.#tricks =
      only === undefined ? TRICKS : [...TRICKS, FORGERY].filter(({ name }) => only.includes(name));
    for (const { name } of this.#tricks) this.played.set(name, 0);
  }

  /** For the proxy in front of one server. */
  planFor(server: string): () => Fault {
    return () => ({ kind: 'meddle', answer: (request) => this.#serve(server, request) });
  }

  end(): void {
    this.#ending.abort();
  }

  async #serve(server: string, request: Request): Promise<Answer | null> {
    const operation = readOperation(request);
    if (operation === null) return forward(this.#url, request, this.#ending.signal);
    const fields = readFields(request);
    const exchange = { server, operation, key: String(fields.license_key), fields, request };
    this.exchanges += 1;
    const play = this.isHonest ? null : this.#choose(exchange);
    return play === null ? this.ask(exchange) : play();
  }

  #choose(exchange: Exchange) {
    if (this.#parked !== null && this.played.has('swapped')) return this.#play('swapped', exchange);
    if (this.random() >= TRICK_SHARE) return null;
    const possible = this.#tricks
      .filter((trick) => trick.find(this, exchange) !== null)
      .sort((a, b) => (this.played.get(a.name) ?? 0) - (this.played.get(b.name) ?? 0));
    if (possible.length === 0) return null;
    return this.#play(pickOne(this.random, possible.slice(0, LEAST_PLAYED)).name, exchange);
  }

  #play(name: string, exchange: Exchange) {
    const play = this.#tricks.find((trick) => trick.name === name)?.find(this, exchange) ?? null;
    if (play === null) return null;
    this.played.set(name, (this.played.get(name) ?? 0) + 1);
    this.recent.push(`${name} (${exchange.operation} of ${exchange.server})`);
    return play;
  }

  /** What the cloud says, to this request or to one in its place. It is kept. */
  async ask(exchange: Exchange, request: Request = exchange.request): Promise<Answer | null> {
    const answer = await forward(this.#url, request, this.#ending.signal).catch(() => null);
    this.vendor.look();
    if (answer !== null) this.#keep(exchange, request, answer);
    return answer;
  }

  #keep(exchange: Exchange, request: Request, answer: Answer): void {
    const { key, server } = exchange;
    const now = this.vendor.now(key);
    const operation = readOperation(request) ?? exchange.operation;
    const stop = findStop(now, server);
    const recorded = { ...exchange, operation, request, answer, terms: now.terms, stop };
    const bucket = `${operation} ${server} ${key} ${answer.status}`;
    const kept = this.#archive.get(bucket) ?? { first: [], last: [] };
    this.#archive.set(bucket, kept);
    if (kept.first.length < KEPT_FIRST) kept.first.push(recorded);
    else kept.last.push(recorded);
    if (kept.last.length > KEPT_LAST) kept.last.shift();
  }

  /** Answers that were given before, the oldest of each kind first. */
  seen(condition: (recorded: Recorded) => boolean): readonly Recorded[] {
    return [...this.#archive.values()].flatMap(({ first, last }) => [...first, ...last].filter(condition));
  }

  /** Another nonce than the one of this request, as some server has sent it. */
  findOtherNonce({ request }: Exchange): string | undefined {
    const own = findHeader(request.headers, NONCE_HEADER);
    const others = this.seen((one) => findHeader(one.request.headers, NONCE_HEADER) !== own);
    const nonces = others.flatMap((one) => findHeader(one.request.headers, NONCE_HEADER) ?? []);
    return nonces.length === 0 ? undefined : pickOne(this.random, nonces);
  }

  /** Gives back the answer to another request that is under way at the same time, if there comes one. */
  async swap(answer: Answer): Promise<Answer> {
    const parked = this.#parked;
    if (parked !== null) {
      this.#parked = null;
      parked.swap(answer);
      return parked.answer;
    }
    if (this.running < 2) return answer;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#parked = { answer, swap: resolve };
    return promise;
  }

  /** A piece of work is done. Whoever waits for a partner that can no longer come gets the own answer. */
  noteDone(): void {
    this.running -= 1;
    const parked = this.#parked;
    if (parked === null || this.running > 1) return;
    this.#parked = null;
    parked.swap(parked.answer);
  }

  /** The cloud gets what it has not got yet, after whatever it got since. */
  async deliverLate(): Promise<void> {
    for (const exchange of this.late.splice(0)) await this.ask(exchange);
  }

  /** What was played since the last call. */
  takeRecent(): readonly string[] {
    return this.recent.splice(0);
  }
}
