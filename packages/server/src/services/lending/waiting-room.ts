import { placeOf } from '@berth/protocol/address-range';
import type { LeaveLine, Register, RegisterFeature, Wait } from '../../core/command.ts';
import { canWait, lenderOf } from '../../core/lending/waiting-line.ts';
import { addressOf } from '../../core/nouns/actor.ts';
import { Histogram } from '../../core/nouns/histogram.ts';
import { type Instant, SECOND_MS } from '../../core/nouns/instant.ts';
import type { LicenseId } from '../../core/nouns/license.ts';
import type { HandedOn, PlaceKey, Waiting } from '../../core/outcome.ts';
import { CLIENT_GONE } from '../../core/refusals.ts';
import type { Executed, Store } from '../../store/store.ts';

type Waitable = Register | RegisterFeature;

/** Whether the client is gone, and what to do when it goes. */
interface Client {
  readonly isGone: boolean;
  onGone: (() => void) | null;
}

/** How long a client is willing to wait, and what came of it. */
export interface Patience {
  readonly forMs: number;
  readonly client: Client;
  /** Whether the client would have waited if it had to. */
  isApplied: boolean;
  /** When the wait began, by the store's time; `null`: it did not have to wait. */
  since: Instant | null;
  waitedMs: number;
}

/** The clients of this server that wait for a slot. The line itself is the store's. */
export interface WaitingRoom {
  /** Without patience, or if too many wait, the client is answered at once, and may be kept a place. */
  execute(command: Waitable, patience?: Patience): Promise<Executed>;
  /** How many wait. */
  count(): number;
  /** How long those waited who got a slot, and those who did not. */
  readonly waits: { readonly served: Histogram; readonly denied: Histogram };
  /** Answers all who wait, and lets nobody wait any more. */
  close(): Promise<void>;
}

interface RoomOptions {
  readonly settings: { readonly current: RoomSettings };
  readonly readMonotonicMs: () => number;
}

interface RoomSettings {
  readonly lending: { readonly maxWaiting: number; readonly holdForRetries: number };
  readonly http: { readonly maxConnections: number; readonly maxConnectionsPerAddress: number };
}

interface Waiter {
  readonly command: Waitable;
  readonly patience: Patience;
  readonly key: PlaceKey;
  readonly startedMs: number;
  readonly deadlineMs: number;
  readonly settled: PromiseWithResolvers<Executed>;
  timer: NodeJS.Timeout;
  /** A command of it is under way. */
  isAsking: boolean;
  /** It was called meanwhile. */
  isCalled: boolean;
  /** Of those of one user who wait at the same time: how many have a slot, by license, and are not gone. */
  readonly answered: Map<LicenseId, number>;
}

/**
 * Those who wait for slots of a product, and when to look whether one has ended by itself. After the last of
 * them it is looked after until their places are gone.
 */
interface Product {
  waiters: number;
  /** How often it was looked at since the last of them. */
  idleLooks: number;
  timer: NodeJS.Timeout;
  dueMs: number;
}

/** What is noticed by time alone is noticed so soon; the end of a slot at once. */
const LOOK_MS = SECOND_MS;

/** By then all places of this server are gone; others may still wait elsewhere. */
const MAX_IDLE_LOOKS = 15;

const WAIT_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

export function createWaitingRoom(store: Store, options: RoomOptions): WaitingRoom {
  const room = new Room(store, options);
  store.turns.listen((key) => room.call(key));
  return room;
}

class Room implements WaitingRoom {
  readonly waits = { served: new Histogram(WAIT_SECONDS), denied: new Histogram(WAIT_SECONDS) };
  readonly #store: Store;
  readonly #options: RoomOptions;
  /** Arrays: most users have one, and a set takes more memory. */
  readonly #waiters = new Map<string, readonly Waiter[]>();
  readonly #products = new Map<string, Product>();
  readonly #perAddress = new Map<string, number>();
  /** Who repeats the call and has a place without a connection. */
  readonly #repeating = new Map<string, { readonly place: string; readonly untilMs: number }>();
  #count = 0;
  /** How often the line was told that a connection no longer waits. */
  #departures = 0;
  #isClosed = false;

  constructor(store: Store, options: RoomOptions) {
    this.#store = store;
    this.#options = options;
  }

  count(): number {
    return this.#count - this.#repeating.size;
  }

  async execute(command: Waitable, patience?: Patience): Promise<Executed> {
    const address = addressOf(command.by);
    const place = address === null ? '' : placeOf(address);
    if (patience === undefined) return this.#repeat(command, place);
    if (this.#isFull(place)) return this.#store.execute(command);
    patience.isApplied = true;
    this.#countAt(place, 1);
    const startedMs = this.#options.readMonotonicMs();
    const departures = this.#departures;
    try {
      const outcome = await this.#store.execute(withWait(command, { mode: 'stay', forMs: patience.forMs }));
      if (outcome.kind !== 'waiting') return outcome;
      patience.since = outcome.now;
      const waiter = this.#join(command, patience, outcome, startedMs);
      // If it was another one of the user, the line takes all of them for gone.
      if (departures !== this.#departures) this.#ask(waiter);
      return await waiter.settled.promise;
    } finally {
      this.#countAt(place, -1);
    }
  }

  /** It has a place while it is under way, so that many at once do not get more than the limit. */
  async #repeat(command: Waitable, place: string): Promise<Executed> {
    const forMs = this.#options.settings.current.lending.holdForRetries * SECOND_MS;
    const nowMs = this.#options.readMonotonicMs();
    for (const [name, { untilMs }] of this.#repeating) if (untilMs <= nowMs) this.#forget(name);
    const { product, licenseId, user } = command;
    const name = JSON.stringify([product, licenseId, 'feature' in command && command.feature, user]);
    const isFull = !this.#repeating.has(name) && this.#isFull(place);
    if (forMs === 0 || isFull) return this.#store.execute(command);
    this.#forget(name);
    this.#countAt(place, 1);
    this.#repeating.set(name, { place, untilMs: nowMs + forMs });
    const outcome = await this.#store.execute(withWait(command, { mode: 'repeat', forMs }));
    if (outcome.kind !== 'refused' || !canWait(outcome)) this.#forget(name);
    return outcome;
  }

  #forget(name: string): void {
    const known = this.#repeating.get(name);
    if (known !== undefined) this.#countAt(known.place, -1);
    this.#repeating.delete(name);
  }

  /** Those who wait hold connections, so they must leave some to the others; names can be invented. */
  #isFull(place: string): boolean {
    const { lending, http } = this.#options.settings.current;
    const most = Math.min(lending.maxWaiting, http.maxConnections >> 1);
    if (this.#isClosed || this.#count >= most) return true;
    return place !== '' && (this.#perAddress.get(place) ?? 0) >= http.maxConnectionsPerAddress >> 1;
  }

  #countAt(place: string, change: 1 | -1): void {
    this.#count += change;
    const count = (this.#perAddress.get(place) ?? 0) + change;
    if (count === 0) this.#perAddress.delete(place);
    else this.#perAddress.set(place, count);
  }

  #join(command: Waitable, patience: Patience, outcome: Waiting, startedMs: number): Waiter {
    const { product, feature, user } = outcome;
    const name = nameOf({ product, feature, user });
    const beside = this.#waiters.get(name) ?? [];
    const waiter: Waiter = {
      command,
      patience,
      key: { product, feature, user },
      startedMs,
      deadlineMs: startedMs + patience.forMs,
      settled: Promise.withResolvers(),
      timer: setTimeout(() => this.#ask(waiter), patience.forMs),
      isAsking: false,
      isCalled: false,
      answered: beside[0]?.answered ?? new Map(),
    };
    this.#waiters.set(name, [...beside, waiter]);
    this.#watch(product, 1);
    this.#lookAt(product, outcome);
    patience.client.onGone = () => this.#leave(waiter);
    if (patience.client.isGone) this.#leave(waiter);
    else if (this.#isClosed) this.#ask(waiter);
    return waiter;
  }

  /** It is somebody's turn: their own request is made again, and renews the slot that was lent to them. */
  call(key: PlaceKey): void {
    for (const waiter of this.#waiters.get(nameOf(key)) ?? []) {
      if (waiter.isAsking) waiter.isCalled = true;
      else this.#ask(waiter);
    }
  }

  /** Makes the request again: because somebody was called, or because the time is over. */
  #ask(waiter: Waiter): void {
    if (waiter.isAsking) {
      waiter.isCalled = true;
      return;
    }
    waiter.isAsking = true;
    this.#askOnce(waiter).catch((error: unknown) => {
      this.#remove(waiter);
      waiter.settled.reject(error);
    });
  }

  async #askOnce(waiter: Waiter): Promise<void> {
    waiter.isCalled = false;
    const leftMs = waiter.deadlineMs - this.#options.readMonotonicMs();
    const isLast = this.#isClosed || leftMs < 1 || waiter.patience.client.isGone;
    const wait: Wait = isLast
      ? { mode: 'last', forMs: this.#longestBeside(waiter) }
      : { mode: 'stay', forMs: leftMs };
    if (isLast) this.#departures += 1;
    const outcome = await this.#store.execute(withWait(waiter.command, { ...wait, hasWaited: true }));
    if (outcome.kind !== 'waiting') this.#finish(waiter, outcome);
    else if (waiter.isCalled || this.#isClosed || waiter.patience.client.isGone) await this.#askOnce(waiter);
    else waiter.isAsking = false;
  }

  /** How long the user's other connections wait. */
  #longestBeside(waiter: Waiter): number {
    const nowMs = this.#options.readMonotonicMs();
    return Math.max(0, ...this.#listBeside(waiter).map(({ deadlineMs }) => deadlineMs - nowMs));
  }

  #finish(waiter: Waiter, outcome: Executed): void {
    const { patience, startedMs, settled, answered } = waiter;
    const lender = lenderOf(outcome);
    if (lender !== null) answered.set(lender, (answered.get(lender) ?? 0) + 1);
    this.#remove(waiter);
    const waitedMs = this.#options.readMonotonicMs() - startedMs;
    patience.waitedMs = waitedMs;
    const waits = outcome.kind === 'refused' ? this.waits.denied : this.waits.served;
    waits.note(waitedMs / SECOND_MS);
    // Until the answer is written, which may have to be signed first.
    patience.client.onGone = () => this.#giveBack(waiter, lender);
    if (patience.client.isGone) this.#giveBack(waiter, lender);
    settled.resolve(outcome);
  }

  /** The client is gone. Its place stays for a moment, in case it comes back. */
  #leave(waiter: Waiter): void {
    // What is under way ends first: it may lend a slot.
    if (waiter.isAsking) return;
    this.#remove(waiter);
    const beside = this.#listBeside(waiter);
    // What the others wait for is said anew: the line knows the latest request of a user.
    if (!beside.some((one) => takes(one, waiter.command.licenseId))) {
      this.#send({ kind: 'leave_line', ...waiter.key });
      for (const one of beside) this.#ask(one);
    }
    waiter.patience.waitedMs = this.#options.readMonotonicMs() - waiter.startedMs;
    waiter.settled.resolve(CLIENT_GONE);
  }

  /** A client is gone that was answered with a slot. */
  #giveBack(waiter: Waiter, lender: LicenseId | null): void {
    waiter.patience.client.onGone = null;
    if (lender === null) return;
    waiter.answered.set(lender, (waiter.answered.get(lender) as number) - 1);
    this.#returnUnseen(waiter);
  }

  /** Returns what nobody has heard of, unless another client of the user is about to. */
  #returnUnseen(waiter: Waiter): void {
    const beside = this.#listBeside(waiter);
    for (const [unseen, count] of waiter.answered) {
      if (count > 0 || beside.some((one) => takes(one, unseen))) continue;
      waiter.answered.delete(unseen);
      this.#send({ kind: 'leave_line', ...waiter.key, unseen });
    }
  }

  /** The user's other connections that wait. */
  #listBeside(waiter: Waiter): readonly Waiter[] {
    return (this.#waiters.get(nameOf(waiter.key)) ?? []).filter((one) => one !== waiter);
  }

  /** If it fails, the slot ends by its timeout, and the place after a moment. */
  #send(command: LeaveLine): void {
    this.#departures += 1;
    this.#store.execute(command).catch(() => {});
  }

  #remove(waiter: Waiter): void {
    const name = nameOf(waiter.key);
    const waiters = this.#waiters.get(name) ?? [];
    if (!waiters.includes(waiter)) return;
    clearTimeout(waiter.timer);
    waiter.patience.client.onGone = null;
    if (waiters.length === 1) this.#waiters.delete(name);
    else this.#waiters.set(name, this.#listBeside(waiter));
    this.#watch(waiter.key.product, -1);
    this.#returnUnseen(waiter);
  }

  #watch(product: string, change: 1 | -1): void {
    const known = this.#products.get(product);
    const waiters = (known?.waiters ?? 0) + change;
    if (known !== undefined && (waiters > 0 || !this.#isClosed)) known.waiters = waiters;
    else if (known !== undefined) {
      clearTimeout(known.timer);
      this.#products.delete(product);
    } else {
      const timer = setTimeout(() => this.#look(product), LOOK_MS);
      this.#products.set(product, {
        waiters,
        idleLooks: 0,
        timer,
        dueMs: this.#options.readMonotonicMs() + LOOK_MS,
      });
    }
  }

  /** Looks again when the next slot ends by itself, if that is earlier than planned. */
  #lookAt(product: string, { nextEndAt, now }: Pick<HandedOn, 'nextEndAt' | 'now'>): void {
    const known = this.#products.get(product);
    if (known === undefined || nextEndAt === null) return;
    const inMs = Math.max(0, nextEndAt - now) + 1;
    const dueMs = this.#options.readMonotonicMs() + inMs;
    if (dueMs >= known.dueMs) return;
    clearTimeout(known.timer);
    known.dueMs = dueMs;
    known.timer = setTimeout(() => this.#look(product), inMs);
  }

  async #look(product: string): Promise<void> {
    const outcome = await this.#store.execute({ kind: 'hand_on', product }).catch(() => null);
    const known = this.#products.get(product);
    if (known === undefined) return;
    known.idleLooks = known.waiters === 0 ? known.idleLooks + 1 : 0;
    const isCleared = outcome?.kind !== 'handed_on' || outcome.waiting === 0;
    if (known.waiters === 0 && (isCleared || known.idleLooks > MAX_IDLE_LOOKS)) {
      this.#products.delete(product);
      return;
    }
    known.dueMs = this.#options.readMonotonicMs() + LOOK_MS;
    known.timer = setTimeout(() => this.#look(product), LOOK_MS);
    if (outcome?.kind !== 'handed_on') return;
    for (const key of outcome.lent) this.call(key);
    // The product is gone, or its line was lost.
    if (outcome.waiting + outcome.lent.length === 0) this.#callAll(product);
    this.#lookAt(product, outcome);
  }

  #callAll(product: string): void {
    const waiters = [...this.#waiters.values()].flat();
    for (const waiter of waiters.filter(({ key }) => key.product === product)) this.#ask(waiter);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const waiters = [...this.#waiters.values()].flat();
    for (const waiter of waiters) this.#ask(waiter);
    await Promise.allSettled(waiters.map(({ settled }) => settled.promise));
    for (const { timer } of this.#products.values()) clearTimeout(timer);
    this.#products.clear();
  }
}

function nameOf({ product, feature, user }: PlaceKey): string {
  return JSON.stringify([product, feature, user]);
}

function withWait(command: Waitable, wait: Wait): Waitable {
  return { ...command, wait: { ...wait, forMs: Math.ceil(wait.forMs) } };
}

/** Whether a client may be answered with a slot of the license; `null`: of any. */
function takes({ command: { licenseId } }: Waiter, lender: LicenseId | null): boolean {
  return licenseId === null || licenseId === lender;
}
