import { RequestError } from '@berth/protocol/request-error';
import { suggest } from '@berth/protocol/suggest';
import type { Channel, ChannelTarget } from '../../core/notify/channel.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import { nameOf } from '../../core/nouns/actor.ts';
import { followerOf } from '../../core/nouns/audit-position.ts';
import { type Instant, plus, SECOND_MS } from '../../core/nouns/instant.ts';
import type { MessageReceiver } from '../../receivers/event-receiver.ts';
import type { Executed } from '../lending/lending.ts';
import { type ChannelMemory, chooseStart, noteDelivery, readMemory } from './channel-memory.ts';
import { Courier, type CourierOptions } from './courier.ts';
import type { TestResult } from './deliveries.ts';
import { type ChannelWish, readChannel } from './read-channel.ts';

export interface ChannelOptions extends Omit<CourierOptions, 'readNow' | 'inTurn'> {
  readonly open: (target: ChannelTarget) => MessageReceiver;
}

export interface ChannelState {
  readonly channel: Channel;
  readonly state: 'paused' | 'untried' | 'ok' | 'failing';
  readonly deliveredAt: Instant | null;
  readonly failingAt: Instant | null;
  readonly error: string | null;
}

/** How soon a change that another server has stored is noticed. */
const LIST_FRESH_MS = 5 * SECOND_MS;

/** For how long the channels of a round share a look at the clock. */
const TIME_FRESH_MS = SECOND_MS / 2;

/** Messages to administrators, by mail and chat. What is known of a channel is in the store. */
export class Channels {
  readonly #options: ChannelOptions;
  readonly #channels: Fresh<readonly Channel[]>;
  readonly #readNow: () => Promise<Instant>;
  /** By the name of the channel; one that was changed gets a new one. */
  readonly #couriers = new Map<string, { readonly of: string; readonly courier: Courier }>();
  readonly #atWork = new Set<string>();
  #lastTurn: Promise<unknown> = Promise.resolve();

  constructor(options: ChannelOptions) {
    const { store, readMonotonicMs } = options;
    this.#options = options;
    const list = () => store.read({ kind: 'list_channels' });
    this.#channels = new Fresh(list, LIST_FRESH_MS, readMonotonicMs);
    const readClock = async () => {
      const [{ now }, askedMs] = [await store.keepClock(), readMonotonicMs()];
      return { now, askedMs };
    };
    const clock = new Fresh(readClock, TIME_FRESH_MS, readMonotonicMs);
    this.#readNow = async () => {
      const { now, askedMs } = await clock.read();
      return plus(now, Math.floor(readMonotonicMs() - askedMs));
    };
  }

  async list(): Promise<readonly ChannelState[]> {
    const channels = await this.#options.store.read({ kind: 'list_channels' });
    return Promise.all(channels.map(async (channel) => describe(channel, await this.#remember(channel))));
  }

  /** Adds a channel, or changes what is wished of a known one. */
  async put(name: string, wish: ChannelWish, by: Actor): Promise<Executed> {
    const { store } = this.#options;
    const known = (await store.read({ kind: 'list_channels' })).find((channel) => channel.name === name);
    const channel = readChannel(name, wish, known ?? null);
    const start = await chooseStart(store, channel, known ?? null);
    const outcome = await store.execute({ kind: 'put_channel', channel, start, by });
    this.#channels.forget();
    return outcome;
  }

  async remove(name: string, by: Actor): Promise<Executed> {
    const outcome = await this.#options.store.execute({ kind: 'remove_channel', name, by });
    this.#channels.forget();
    return outcome;
  }

  /** Sends a message to see whether it arrives, which is stored. What waits is not affected. */
  async test(name: string, by: Actor): Promise<TestResult> {
    const { store, readMonotonicMs, open } = this.#options;
    const channel = await this.#get(name);
    const [{ now }, startedMs] = [await store.keepClock(), readMonotonicMs()];
    const delivery = await open(channel.target).send({
      id: `test-${now}.${name}`,
      severity: 'info',
      title: `A test of the channel ${name}`,
      lines: [`${nameOf(by)} sent this to see whether messages arrive. They do.`],
    });
    const durationMs = Math.round(readMonotonicMs() - startedMs);
    if (delivery.kind === 'stopping') {
      return { delivered: false, status: null, durationMs, error: 'The server is stopping.' };
    }
    const { failing, remark } = await this.#note(channel, delivery, now);
    return {
      delivered: failing === null,
      status: delivery.status ?? null,
      durationMs,
      error: sayResult(failing?.reason ?? null, remark),
    };
  }

  async #note(channel: Channel, delivery: Parameters<typeof noteDelivery>[1], now: Instant) {
    const { store } = this.#options;
    const follower = followerOf(channel);
    const stored = await store.read({ kind: 'find_follower', follower });
    const noted = noteDelivery(readMemory(stored?.memory ?? null), delivery, now);
    if (stored !== null) {
      const { position } = stored;
      await store.execute({ kind: 'set_cursor', follower, position, memory: JSON.stringify(noted) });
    }
    return noted;
  }

  async #get(name: string): Promise<Channel> {
    const channels = await this.#options.store.read({ kind: 'list_channels' });
    const found = channels.find((channel) => channel.name === name);
    if (found !== undefined) return found;
    const near = suggest(
      name,
      channels.map((channel) => channel.name),
    );
    throw new RequestError('channel_not_found', `There is no channel "${name}".${near}`, { field: 'name' });
  }

  async #remember(channel: Channel): Promise<ChannelMemory> {
    const follower = followerOf(channel);
    const stored = await this.#options.store.read({ kind: 'find_follower', follower });
    return readMemory(stored?.memory ?? null);
  }

  /**
   * Sends what is due on the channel at this place of the list. Each place has its own loop, so that a
   * receiver that hangs delays no other.
   */
  async deliver(place: number): Promise<void> {
    const channels = await this.#channels.read();
    for (const name of this.#couriers.keys()) {
      if (!channels.some((channel) => channel.name === name)) this.#couriers.delete(name);
    }
    const channel = channels[place];
    if (channel === undefined || channel.isPaused || this.#atWork.has(channel.name)) return;
    this.#atWork.add(channel.name);
    try {
      await this.#courierOf(channel).deliver();
    } finally {
      this.#atWork.delete(channel.name);
    }
  }

  #courierOf(channel: Channel): Courier {
    const of = JSON.stringify(channel);
    const known = this.#couriers.get(channel.name);
    if (known?.of === of) return known.courier;
    const inTurn = <T>(work: () => Promise<T>) => this.#takeTurn(work);
    const options = { ...this.#options, readNow: this.#readNow, inTurn };
    const courier = new Courier(channel, this.#options.open(channel.target), options);
    this.#couriers.set(channel.name, { of, courier });
    return courier;
  }

  /** One after the other, whatever becomes of those before. */
  #takeTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(work);
    this.#lastTurn = turn.catch(() => {});
    return turn;
  }
}

function describe(channel: Channel, { deliveredAt, failing, remark }: ChannelMemory): ChannelState {
  const state = failing !== null ? 'failing' : deliveredAt === null ? 'untried' : 'ok';
  return {
    channel,
    state: channel.isPaused ? 'paused' : state,
    deliveredAt,
    failingAt: failing?.failingAt ?? null,
    error: failing?.reason ?? remark,
  };
}

/** Reads again when the last answer is no longer fresh; those who ask meanwhile share it. */
class Fresh<T> {
  readonly #read: () => Promise<T>;
  readonly #freshMs: number;
  readonly #readMonotonicMs: () => number;
  #last: { readonly atMs: number; readonly value: Promise<T> } | null = null;

  constructor(read: () => Promise<T>, freshMs: number, readMonotonicMs: () => number) {
    this.#read = read;
    this.#freshMs = freshMs;
    this.#readMonotonicMs = readMonotonicMs;
  }

  read(): Promise<T> {
    const nowMs = this.#readMonotonicMs();
    if (this.#last === null || nowMs - this.#last.atMs >= this.#freshMs) {
      this.#last = { atMs: nowMs, value: this.#read() };
    }
    return this.#last.value;
  }

  forget(): void {
    this.#last = null;
  }
}

function sayResult(reason: string | null, remark: string | null): string | null {
  const say = (text: string) => text.replace(/^it /, 'the receiver ');
  if (reason !== null) return `The test message was not delivered: ${say(reason)}.`;
  return remark === null ? null : `The test message was delivered, but ${say(remark)}.`;
}
