import { backOffMs } from '../../core/back-off.ts';
import type { Channel } from '../../core/notify/channel.ts';
import { Gathering } from '../../core/notify/gather.ts';
import type { Message } from '../../core/notify/message.ts';
import { isDigestDue, isDue } from '../../core/notify/when.ts';
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
import type { MessageReceiver } from '../../receivers/event-receiver.ts';
import type { FollowerRecord } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log.ts';
import { beginChannel, type ChannelMemory, noteDelivery, readMemory } from './channel-memory.ts';
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
}

const PAGE_LINKS = 500;

/** How often it looks whether a digest is due. */
const DIGEST_LOOK_MS = MINUTE_MS;

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
    const stored = await this.#findStored();
    // The server has died before it could store where the channel begins.
    if (stored === null) return beginChannel(this.#options.store, this.#channel, null);
    const memory = readMemory(stored.memory);
    await this.#readLog();
    const { readMonotonicMs, readNow, store } = this.#options;
    const monotonicMs = readMonotonicMs();
    // A test that arrived, maybe from another server, says that it is worth trying again.
    if (memory.failing === null && this.#failures > 0) this.#forgetFailures();
    if (monotonicMs < this.#nextTryMs || !store.isLeader()) return;
    if (this.#gathering.topics.length > 0) await this.#tell(stored, memory, await readNow());
    else if (this.#isFarAhead(stored)) await this.#save(memory);
    if (this.#channel.hasDigest && this.#failures === 0 && monotonicMs >= this.#nextDigestLookMs) {
      this.#nextDigestLookMs = monotonicMs + DIGEST_LOOK_MS;
      await this.#sendDigest(await readNow());
    }
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

  async #readLog(): Promise<void> {
    for (let isFull = true; isFull; ) {
      const from = this.#readTo as AuditPosition;
      const scope = { chain: null, before: null, limit: PAGE_LINKS };
      const links = await this.#options.store.read({ kind: 'list_audit', ...scope, after: linkBefore(from) });
      for (const { seq, chain, at, events } of links) {
        const licenseId = chain === 0 ? null : chain;
        for (const [index, event] of events.entries()) {
          if (isAfter({ seq, index }, from)) this.#gathering.add({ licenseId, at, event });
        }
      }
      const last = links.at(-1);
      if (last !== undefined) this.#readTo = endOfLink(last.seq);
      isFull = links.length >= PAGE_LINKS;
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
    if (noted !== null) await this.#save({ ...noted, told });
  }

  async #sendDigest(now: Instant): Promise<void> {
    const stored = await this.#findStored();
    if (stored === null) return;
    const memory = readMemory(stored.memory);
    if (!isDigestDue(this.#channel.zone, memory.digestAt ?? now, now)) return;
    const { store, writeReports } = this.#options;
    const message = await composeDigest(store, this.#channel, writeReports, now);
    const noted = await this.#send(message, memory, now);
    if (noted !== null) await this.#save({ ...noted, digestAt: now }, stored.position);
  }

  /** What to remember, or `null` if it did not arrive; that is stored, so that every server can show it. */
  async #send(message: Message, memory: ChannelMemory, now: Instant): Promise<ChannelMemory | null> {
    const delivery = await this.#receiver.send(message);
    if (delivery.kind === 'stopping') return null;
    const noted = noteDelivery(memory, delivery, now);
    if (noted.failing !== null) {
      await this.#noteFailure(memory, noted, noted.failing.reason);
      return null;
    }
    if (this.#failures > 0) this.#options.log.info(`the channel ${this.#channel.name} works again`);
    this.#forgetFailures();
    return noted;
  }

  async #noteFailure(memory: ChannelMemory, noted: ChannelMemory, reason: string): Promise<void> {
    const { log, readMonotonicMs } = this.#options;
    const { name } = this.#channel;
    if (this.#failures === 0) log.warn({ reason }, `the channel ${name} fails; its messages are kept`);
    this.#failures += 1;
    this.#nextTryMs = readMonotonicMs() + backOffMs(this.#failures, BACK_OFF, Math.random());
    if (memory.failing?.reason !== reason) await this.#save(noted, this.#stored?.position);
  }

  #forgetFailures(): void {
    this.#failures = 0;
    this.#nextTryMs = 0;
  }

  /** Up to where the log was read, unless another position is given. */
  async #save(memory: ChannelMemory, position = this.#readTo as AuditPosition): Promise<void> {
    const follower = followerOf(this.#channel);
    const text = JSON.stringify(memory);
    await this.#options.store.execute({ kind: 'set_cursor', follower, position, memory: text });
    if (position === this.#readTo) this.#gathering = new Gathering(this.#channel.topics);
    this.#stored = { position, memory: text };
  }
}
