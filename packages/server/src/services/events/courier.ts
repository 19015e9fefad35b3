import { backOffMs } from '../../core/back-off.ts';
import type { Channel } from '../../core/notify/channel.ts';
import { Gathering } from '../../core/notify/gather.ts';
import type { Message } from '../../core/notify/message.ts';
import { type DigestPeriod, findDueDigest, isDue } from '../../core/notify/when.ts';
import { writeMessage } from '../../core/notify/write-message.ts';
import {
  type AuditPosition,
  endOfLink,
  followerOf,
  isAfter,
  linkBefore,
} from '../../core/nouns/audit-position.ts';
import { type Instant, MINUTE_MS } from '../../core/nouns/instant.ts';
import { nameOfLicense } from '../../core/nouns/license.ts';
import type { Topic } from '../../core/nouns/topics.ts';
import type { Delivery, MessageReceiver } from '../../receivers/event-receiver.ts';
import type { AuditLink, FollowerRecord } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log.ts';
import type { RunTask } from '../tasks/task.ts';
import { type ChannelMemory, noteDelivery, readMemory } from './channel-memory.ts';
import { composeDigest, type WriteReports } from './compose-digest.ts';
import { BACK_OFF } from './deliveries.ts';

export interface CourierOptions {
  readonly store: Store;
  readonly log: Log;
  readonly readMonotonicMs: () => number;
  /** The reports on this time, as files. */
  readonly writeReports: WriteReports;
  /** The server's time. */
  readonly readNow: () => Promise<Instant>;
  /** Digests are written one at a time: each reads the history of all licenses. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  readonly runTask: RunTask;
  readonly signal: AbortSignal;
}

const PAGE_LINKS = 500;
/** A link may have thousands of events. */
const PAGE_EVENTS = 5000;
/** A channel that is far behind reads on in the next round. */
const MAX_PAGES = 20;

/** How often it looks whether a digest is due. */
const DIGEST_LOOK_MS = MINUTE_MS;

type Failed = Extract<Delivery, { kind: 'failed' }>;

interface Unsaved {
  readonly memory: ChannelMemory;
  readonly position: AuditPosition;
}

/**
 * Brings messages to one channel. It follows the audit log and sums up what it finds; when a message is due,
 * it sends the sum, and then stores how far it got, in one commit with what it has to remember. So a crash
 * repeats a message at the worst, and loses no count: what was not told is summed up again from there.
 */
export class Courier {
  readonly #options: CourierOptions;
  readonly #channel: Channel;
  readonly #receiver: MessageReceiver;
  #stored: FollowerRecord | null = null;
  #gathering: Gathering;
  /** How far the log is summed up. */
  #readTo: AuditPosition | null = null;
  /** What became of a message and is not stored yet. Before it is, nothing is sent. */
  #unsaved: Unsaved | null = null;
  #failures = 0;
  #nextTryMs = 0;
  #nextDigestLookMs = 0;

  constructor(channel: Channel, receiver: MessageReceiver, options: CourierOptions) {
    this.#channel = channel;
    this.#receiver = receiver;
    this.#options = options;
    this.#gathering = new Gathering(channel.topics);
  }

  /** Sends what is due, while this server is the leader. */
  async deliver(): Promise<void> {
    // While the disk fails, deliveries cannot be recorded, and the same message would be sent repeatedly.
    await this.#save();
    const stored = await this.#findStored();
    // The channel was removed just now.
    if (stored === null) return;
    if (!(await this.#readLog())) return;
    const memory = readMemory(stored.memory);
    // A test that arrived, maybe from another server, says that it is worth trying again.
    if (memory.failing === null && this.#failures > 0) this.#forgetFailures();
    const { readMonotonicMs, readNow } = this.#options;
    if (!this.#maySend()) return;
    if (this.#gathering.topics.length > 0) await this.#tell(stored, memory, await readNow());
    else if (this.#isFarAhead(stored)) await this.#remember(memory, this.#readTo as AuditPosition);
    if (this.#channel.digest !== 'off' && this.#maySend() && readMonotonicMs() >= this.#nextDigestLookMs) {
      this.#nextDigestLookMs = readMonotonicMs() + DIGEST_LOOK_MS;
      await this.#sendDigest(await readNow());
    }
  }

  /** Not while it is left alone after a failure. */
  #maySend(): boolean {
    return this.#mayGoOn() && this.#options.readMonotonicMs() >= this.#nextTryMs;
  }

  #mayGoOn(): boolean {
    return !this.#options.signal.aborted && this.#options.store.isLeader();
  }

  /** Drops what was summed up if another server, or a test, has stored something since. */
  async #findStored(): Promise<FollowerRecord | null> {
    const follower = followerOf(this.#channel);
    const stored = await this.#options.store.read({ kind: 'find_follower', follower });
    if (JSON.stringify(stored?.position) !== JSON.stringify(this.#stored?.position)) {
      this.#gathering = new Gathering(this.#channel.topics);
      this.#readTo = stored?.position ?? null;
    }
    this.#stored = stored;
    return stored;
  }

  /** Whether it has read everything. */
  async #readLog(): Promise<boolean> {
    const scope = { chain: null, before: null, limit: PAGE_LINKS, eventLimit: PAGE_EVENTS };
    for (let page = 0; page < MAX_PAGES && this.#mayGoOn(); page += 1) {
      const from = this.#readTo as AuditPosition;
      const links = await this.#options.store.read({ kind: 'list_audit', ...scope, after: linkBefore(from) });
      for (const link of links) this.#add(link, from);
      const last = links.at(-1);
      if (last !== undefined) this.#readTo = endOfLink(last.seq);
      const count = links.reduce((sum, { events }) => sum + events.length, 0);
      if (links.length < PAGE_LINKS && count < PAGE_EVENTS) return true;
    }
    return false;
  }

  #add({ seq, chain, at, events }: AuditLink, from: AuditPosition): void {
    const licenseId = chain === 0 ? null : chain;
    for (const [index, event] of events.entries()) {
      if (isAfter({ seq, index }, from)) this.#gathering.add({ licenseId, at, event });
    }
  }

  /** Now and then without a message, so that a start has less to read. */
  #isFarAhead({ position }: FollowerRecord): boolean {
    return (this.#readTo as AuditPosition).seq - position.seq >= PAGE_LINKS;
  }

  async #tell(stored: FollowerRecord, memory: ChannelMemory, now: Instant): Promise<void> {
    const { topics } = this.#gathering;
    const { zone, name } = this.#channel;
    if (!isDue(this.#channel, topics, memory.told, now)) return;
    const licenses = await this.#options.store.read({ kind: 'list_licenses', product: null });
    const names = new Map<number, string>(
      licenses.map(({ license }) => [license.id, nameOfLicense(license)]),
    );
    const nameOf = (id: number) => names.get(id) ?? `license ${id}`;
    const id = `${stored.position.seq}.${(this.#readTo as AuditPosition).seq}.${name}`;
    const message = writeMessage(this.#gathering, id, { zone, now, nameOf, told: memory.told });
    const told = { ...memory.told, ...Object.fromEntries(topics.map((topic: Topic) => [topic, now])) };
    const noted = await this.#send(message, memory, now);
    if (noted !== null) await this.#remember({ ...noted, told }, this.#readTo as AuditPosition);
  }

  async #sendDigest(now: Instant): Promise<void> {
    const stored = await this.#findStored();
    if (stored === null) return;
    const memory = readMemory(stored.memory);
    const period = findDueDigest(this.#channel, memory.digestAt ?? now, now);
    if (period === null) return;
    const message = await this.#writeDigest(period, now);
    if (message === null || !this.#mayGoOn()) return;
    const noted = 'kind' in message ? null : await this.#send(message, memory, now);
    if ('kind' in message) await this.#noteFailure(memory, noteDelivery(memory, message, now));
    if (noted !== null) await this.#remember({ ...noted, digestAt: now }, stored.position);
    // One that did not arrive is due as soon as the channel is tried again.
    else this.#nextDigestLookMs = 0;
  }

  /** A digest that cannot be written is a failure of the channel: it would be missed otherwise. */
  async #writeDigest(period: DigestPeriod, now: Instant): Promise<Message | Failed | null> {
    const { inTurn, log, ...options } = this.#options;
    const mayGoOn = () => this.#mayGoOn();
    try {
      return await inTurn(() => composeDigest({ ...options, mayGoOn }, this.#channel, period, now));
    } catch (error) {
      log.warn({ error: String(error) }, `the digest for the channel ${this.#channel.name} failed`);
      return { kind: 'failed', reason: 'the digest could not be written; the log of the server says why' };
    }
  }

  /** What to remember, or `null` if it did not arrive; that is stored, so that every server can show it. */
  async #send(message: Message, memory: ChannelMemory, now: Instant): Promise<ChannelMemory | null> {
    const delivery = await this.#receiver.send(message);
    if (delivery.kind === 'stopping') return null;
    const noted = noteDelivery(memory, delivery, now);
    if (noted.failing !== null) {
      await this.#noteFailure(memory, noted);
      return null;
    }
    if (this.#failures > 0) this.#options.log.info(`the channel ${this.#channel.name} works again`);
    this.#forgetFailures();
    return noted;
  }

  async #noteFailure(memory: ChannelMemory, noted: ChannelMemory): Promise<void> {
    const { log, readMonotonicMs } = this.#options;
    const { name } = this.#channel;
    const reason = noted.failing?.reason;
    if (this.#failures === 0) log.warn({ reason }, `the channel ${name} fails; its messages are kept`);
    this.#failures += 1;
    this.#nextTryMs = readMonotonicMs() + backOffMs(this.#failures, BACK_OFF, Math.random());
    const { position } = this.#stored as FollowerRecord;
    if (memory.failing?.reason !== reason) await this.#remember(noted, position);
  }

  #forgetFailures(): void {
    this.#failures = 0;
    this.#nextTryMs = 0;
  }

  async #remember(memory: ChannelMemory, position: AuditPosition): Promise<void> {
    this.#unsaved = { memory, position };
    await this.#save();
  }

  async #save(): Promise<void> {
    if (this.#unsaved === null) return;
    const { memory, position } = this.#unsaved;
    const follower = followerOf(this.#channel);
    const text = JSON.stringify(memory);
    await this.#options.store.execute({ kind: 'set_cursor', follower, position, memory: text });
    if (position === this.#readTo) this.#gathering = new Gathering(this.#channel.topics);
    this.#stored = { position, memory: text };
    this.#unsaved = null;
  }
}
