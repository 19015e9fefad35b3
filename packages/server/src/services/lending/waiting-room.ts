import { placeOf } from '@berth/protocol/address-range';
import type { Register, RegisterFeature, UnseenSlot, Wait } from '../../core/command.ts';
import { addressOf } from '../../core/nouns/actor.ts';
import { Histogram } from '../../core/nouns/histogram.ts';
import { type Instant, SECOND_MS } from '../../core/nouns/instant.ts';
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
  /** Shared by those of one user who wait at the same time: how many were answered with a new slot. */
  readonly answered: { count: number };
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
  readonly #waiters = new Map<string, Waiter[]>();
  readonly #products = new Map<string, Product>();
  readonly #perAddress = new Map<string, number>();
  #count = 0;
  #isClosed = false;

  constructor(store: Store, options: RoomOptions) {
    this.#store = store;
    this.#options = options;
  }

  count(): number {
    return this.#count;
  }

  async execute(command: Waitable, patience?: Patience): Promise<Executed> {
    if (patience === undefined) return this.#store.execute(this.#withRepeat(command));
    const address = addressOf(command.by);
    const place = address === null ? '' : placeOf(address);
    if (this.#isFull(place)) return this.#store.execute(command);
    patience.isApplied = true;
    this.#countAt(place, 1);
    const startedMs = this.#options.readMonotonicMs();
    try {
      const outcome = await this.#store.execute(withWait(command, 'stay', patience.forMs));
      if (outcome.kind !== 'waiting') return outcome;
      patience.since = outcome.now;
      return await this.#join(command, patience, outcome, startedMs).settled.promise;
    } finally {
      this.#countAt(place, -1);
    }
  }

  #withRepeat(command: Waitable): Waitable {
    const { holdForRetries } = this.#options.settings.current.lending;
    if (holdForRetries === 0) return command;
    return { ...command, wait: { mode: 'repeat', forMs: holdForRetries * SECOND_MS } };
  }

  /** Those who wait hold connections, so they must leave some to the others. */
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
      answered: beside[0]?.answered ?? { count: 0 },
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
    const asked = isLast
      ? withWait(waiter.command, 'last', this.#longestBeside(waiter))
      : withWait(waiter.command, 'stay', leftMs);
    const outcome = await this.#store.execute(asked);
    if (outcome.kind !== 'waiting') this.#finish(waiter, outcome);
    else if (waiter.isCalled || this.#isClosed || waiter.patience.client.isGone) await this.#askOnce(waiter);
    else waiter.isAsking = false;
  }

  /** How long the user's other connections wait. */
  #longestBeside(waiter: Waiter): number {
    const nowMs = this.#options.readMonotonicMs();
    const others = [...(this.#waiters.get(nameOf(waiter.key)) ?? [])].filter((one) => one !== waiter);
    return Math.max(0, ...others.map(({ deadlineMs }) => deadlineMs - nowMs));
  }

  #finish(waiter: Waiter, outcome: Executed): void {
    this.#remove(waiter);
    const { patience, startedMs, settled } = waiter;
    const waitedMs = this.#options.readMonotonicMs() - startedMs;
    patience.waitedMs = waitedMs;
    const waits = outcome.kind === 'refused' ? this.waits.denied : this.waits.served;
    waits.note(waitedMs / SECOND_MS);
    const unseen = newSlotOf(outcome, patience.since);
    if (unseen !== null) waiter.answered.count += 1;
    // Until the answer is written, which may have to be signed first.
    patience.client.onGone = () => this.#giveBack(waiter, unseen);
    if (patience.client.isGone) this.#giveBack(waiter, unseen);
    settled.resolve(outcome);
  }

  /** The client is gone. Its place stays for a moment, in case it comes back. */
  #leave(waiter: Waiter): void {
    // What is under way ends first: it may lend a slot.
    if (waiter.isAsking) return;
    this.#remove(waiter);
    if (!this.#waiters.has(nameOf(waiter.key))) this.#send({ kind: 'leave_line', ...waiter.key });
    waiter.patience.waitedMs = this.#options.readMonotonicMs() - waiter.startedMs;
    waiter.settled.resolve(CLIENT_GONE);
  }

  /** Returns the slot that was lent to a client that is gone, unless another one of the user has it, too. */
  #giveBack({ key, patience, answered }: Waiter, unseen: UnseenSlot | null): void {
    patience.client.onGone = null;
    if (unseen === null) return;
    answered.count -= 1;
    if (answered.count === 0) this.#send({ kind: 'leave_line', ...key, unseen });
  }

  /** If it fails, the slot ends by its timeout, and the place after a moment. */
  #send(command: Parameters<Store['execute']>[0]): void {
    this.#store.execute(command).catch(() => {});
  }

  #remove(waiter: Waiter): void {
    const name = nameOf(waiter.key);
    const waiters = this.#waiters.get(name) ?? [];
    if (!waiters.includes(waiter)) return;
    clearTimeout(waiter.timer);
    waiter.patience.client.onGone = null;
    if (waiters.length === 1) this.#waiters.delete(name);
    else
      this.#waiters.set(
        name,
        waiters.filter((one) => one !== waiter),
      );
    this.#watch(waiter.key.product, -1);
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

function withWait(command: Waitable, mode: Wait['mode'], forMs: number): Waitable {
  return { ...command, wait: { mode, forMs: Math.ceil(forMs) } };
}

/** The slot that was lent while the client waited; `null`: there is none. */
function newSlotOf(outcome: Executed, since: Instant | null): UnseenSlot | null {
  if (since === null) return null;
  if (outcome.kind === 'granted') {
    const { license, registration } = outcome;
    const { registeredAt, endsAt } = registration;
    return registeredAt < since ? null : { licenseId: license.id, registeredAt, endsAt };
  }
  if (outcome.kind !== 'measured' || outcome.slot === null) return null;
  const { registeredAt, endsAt } = outcome.slot;
  return registeredAt < since ? null : { licenseId: outcome.licenseId, registeredAt, endsAt };
}
