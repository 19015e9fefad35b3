import { backOffMs } from '../../core/back-off.ts';
import {
  type AuditPosition,
  endOfLink,
  eventId,
  isAfter,
  linkBefore,
} from '../../core/nouns/audit-position.ts';
import { DAY_MS, type Instant, MINUTE_MS, plus, SECOND_MS } from '../../core/nouns/instant.ts';
import { WEBHOOK_TOPICS, type WebhookTopic } from '../../core/nouns/webhook-topics.ts';
import type { AuditLink } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log.ts';
import type { WebhookEvent, WebhookReceiver } from '../../webhooks/webhooks.ts';
import { createTurns } from '../create-turns.ts';

/**
 * Delivers some events to a receiver, each at least once and in order. It follows the audit log by a stored
 * cursor, so that no request waits for it and a restart or crash loses nothing. While the receiver rejects
 * one event, the others wait; an event is dropped a day after it happened.
 */
export interface Webhooks {
  /** A new receiver gets new events only. */
  begin(): Promise<void>;
  /** Reads the log and sends what is due, while this server is the leader. */
  deliver(): Promise<void>;
  /** Another server has delivered until now: the next round starts at its stored cursor. */
  takeOver(): void;
  describe(): Promise<WebhookStatus>;
}

interface WebhookStatus {
  /** `untried`: nothing has been sent since the start. */
  readonly state: 'off' | 'untried' | 'ok' | 'failing';
  readonly deliveredAt: Instant | null;
  /** Since when the receiver fails. */
  readonly failingAt: Instant | null;
  readonly error: string | null;
  /** Undelivered events, counted up to a thousand. */
  readonly waiting: number;
  /** Since the start. */
  readonly delivered: number;
  readonly dropped: number;
}

export interface WebhookOptions {
  readonly store: Store;
  /** `null` if there is none, or if this process must not act for the server. */
  readonly receiver: WebhookReceiver | null;
  readonly isOn: boolean;
  readonly topics: readonly WebhookTopic[];
  readonly log: Log;
  readonly readMonotonicMs: () => number;
}

/** Events kept in memory; the log has the rest. */
const MAX_WAITING = 1000;
const PAGE_LINKS = 500;

/** When an event is dropped after it happened. */
const GIVE_UP_MS = DAY_MS;

/** How long a receiver that took nothing is left alone. */
export const BACK_OFF = { firstMs: SECOND_MS, longestMs: 5 * MINUTE_MS };

interface Waiting extends WebhookEvent {
  readonly position: AuditPosition;
  firstTriedMs: number | null;
}

export function createWebhooks(options: WebhookOptions): Webhooks {
  return new WebhookDelivery(options);
}

class WebhookDelivery implements Webhooks {
  readonly #options: WebhookOptions;
  readonly #kinds: ReadonlySet<string>;
  readonly #takeTurn = createTurns();
  readonly #queue: Waiting[] = [];
  /** How far the log has been read; `null` if not yet. */
  #read: AuditPosition | null = null;
  /** The last event that was delivered or dropped. */
  #settled: AuditPosition | null = null;
  /** The stored cursor. */
  #saved: AuditPosition | null = null;
  /** After another server has delivered, only the stored cursor says how far. */
  #isOutdated = false;
  #isDelivering = false;
  #failures = 0;
  #nextTryMs = 0;
  #failing: Pick<WebhookStatus, 'failingAt' | 'error'> = WELL;
  #deliveredAt: Instant | null = null;
  #delivered = 0;
  #dropped = 0;
  #dropReason = '';

  constructor(options: WebhookOptions) {
    this.#options = options;
    this.#kinds = new Set(options.topics.flatMap((topic) => WEBHOOK_TOPICS[topic] as readonly string[]));
  }

  async begin(): Promise<void> {
    const { store } = this.#options;
    if ((await store.read({ kind: 'find_webhook_cursor' })) !== null) return;
    const [newest] = await store.read({ kind: 'list_audit', chain: null, before: null, limit: 1 });
    const position = endOfLink(newest?.seq ?? 0);
    await store.execute({ kind: 'set_webhook_cursor', position, isFirst: true });
  }

  async deliver(): Promise<void> {
    const { receiver } = this.#options;
    if (receiver === null) return;
    this.#isDelivering = true;
    try {
      if (this.#isOutdated) await this.#beginAgain();
      await this.#readOn();
      if (this.#queue.length > 0) await this.#deliverQueue(receiver);
      await this.#save();
    } finally {
      this.#isDelivering = false;
    }
  }

  takeOver(): void {
    this.#isOutdated = true;
  }

  /** Never while an event of the queue is being sent: it would be mistaken for another one. */
  #beginAgain(): Promise<void> {
    return this.#takeTurn(async () => {
      this.#isOutdated = false;
      this.#queue.length = 0;
      this.#read = null;
      this.#settled = null;
      this.#saved = null;
    });
  }

  async #deliverQueue(receiver: WebhookReceiver): Promise<void> {
    const { store, readMonotonicMs } = this.#options;
    const [{ now }, askedMs] = [await store.keepClock(), readMonotonicMs()];
    // Asked once per round, which may have a thousand events.
    const readNow = () => plus(now, Math.floor(readMonotonicMs() - askedMs));
    const droppedBefore = this.#dropped;
    for (;;) {
      const head = this.#queue[0];
      if (head === undefined || !(await this.#deliverOne(head, receiver, readNow))) break;
    }
    if (this.#dropped > droppedBefore) this.#logDrops(this.#dropped - droppedBefore);
  }

  async describe(): Promise<WebhookStatus> {
    // The log and the cursor show what is waiting, whichever server delivers.
    if (!this.#options.store.isLeader() && !this.#isDelivering) await this.#beginAgain();
    if (this.#options.isOn) await this.#readOn();
    return {
      state: this.#stateOf(),
      deliveredAt: this.#deliveredAt,
      ...this.#failing,
      waiting: this.#queue.length,
      delivered: this.#delivered,
      dropped: this.#dropped,
    };
  }

  #stateOf(): WebhookStatus['state'] {
    if (!this.#options.isOn) return 'off';
    if (this.#failures > 0) return 'failing';
    return this.#delivered > 0 ? 'ok' : 'untried';
  }

  /** Whether to continue with the next event at once. */
  async #deliverOne(head: Waiting, receiver: WebhookReceiver, readNow: () => Instant): Promise<boolean> {
    const { store, readMonotonicMs } = this.#options;
    // The last events may be delivered twice; the new leader continues with the rest.
    if (!store.isLeader()) return false;
    if (this.#isTooOld(head, readNow())) return this.#drop('it did not accept them within a day');
    if (readMonotonicMs() < this.#nextTryMs) return false;
    // While the disk fails, deliveries cannot be recorded, and the same events would be sent repeatedly.
    await this.#save();
    head.firstTriedMs ??= readMonotonicMs();
    const delivery = await receiver.send(head);
    switch (delivery.kind) {
      case 'delivered':
        this.#noteDelivered(readNow());
        return true;
      case 'gone':
        this.#noteTaken();
        return this.#drop('it refused them permanently (410)');
      case 'failed':
        this.#noteFailure(delivery.reason, readNow());
        return false;
      case 'stopping':
        return false;
    }
  }

  /** The server's time may have been set back, so a monotonic clock decides, too. */
  #isTooOld({ at, firstTriedMs }: Waiting, now: Instant): boolean {
    const triedMs = firstTriedMs === null ? 0 : this.#options.readMonotonicMs() - firstTriedMs;
    return now >= at + GIVE_UP_MS || triedMs >= GIVE_UP_MS;
  }

  #settle(): void {
    this.#settled = this.#queue.shift()?.position ?? null;
  }

  #drop(reason: string): true {
    this.#settle();
    this.#dropped += 1;
    this.#dropReason = reason;
    return true;
  }

  #noteDelivered(now: Instant): void {
    this.#settle();
    this.#delivered += 1;
    this.#deliveredAt = now;
    this.#noteTaken();
  }

  #noteTaken(): void {
    if (this.#failures > 0) this.#options.log.info('the webhook receiver answers again');
    this.#failures = 0;
    this.#nextTryMs = 0;
    this.#failing = WELL;
  }

  #noteFailure(reason: string, now: Instant): void {
    const { log, readMonotonicMs } = this.#options;
    if (this.#failures === 0)
      log.warn({ reason }, 'the webhook receiver does not accept events; they are kept');
    this.#failures += 1;
    this.#nextTryMs = readMonotonicMs() + backOffMs(this.#failures, BACK_OFF, Math.random());
    this.#failing = { failingAt: this.#failing.failingAt ?? now, error: reason };
  }

  #logDrops(count: number): void {
    const facts = { dropped: count, reason: this.#dropReason };
    this.#options.log.warn(facts, 'events for the webhook receiver were dropped');
  }

  #readOn(): Promise<void> {
    return this.#takeTurn(async () => {
      const { store } = this.#options;
      this.#saved ??= await store.read({ kind: 'find_webhook_cursor' });
      this.#read ??= this.#saved;
      while (this.#read !== null && this.#queue.length < MAX_WAITING) {
        const scope = { chain: null, before: null, limit: PAGE_LINKS };
        const links = await store.read({ kind: 'list_audit', ...scope, after: linkBefore(this.#read) });
        for (const link of links) this.#enqueue(link, this.#read);
        this.#read = endOfLink(links.at(-1)?.seq ?? this.#read.seq);
        if (links.length < PAGE_LINKS) return;
      }
    });
  }

  #enqueue({ seq, chain, at, events }: AuditLink, after: AuditPosition): void {
    for (const [index, event] of events.entries()) {
      const position = { seq, index };
      if (!this.#kinds.has(event.kind) || !isAfter(position, after)) continue;
      const licenseId = chain === 0 ? null : chain;
      this.#queue.push({ id: eventId(position), licenseId, at, event, position, firstTriedMs: null });
    }
  }

  /** Stores the cursor now and then even without deliveries, so that a start has less to read. */
  async #save(): Promise<void> {
    const [read, saved, settled] = [this.#read, this.#saved, this.#settled];
    if (read === null || saved === null) return;
    const isIdle = this.#queue.length === 0;
    const hasSettled = settled !== null && isAfter(settled, saved);
    if (!hasSettled && !(isIdle && read.seq - saved.seq >= PAGE_LINKS)) return;
    const position = isIdle || settled === null ? read : settled;
    await this.#options.store.execute({ kind: 'set_webhook_cursor', position });
    this.#saved = position;
  }
}

const WELL = { failingAt: null, error: null } as const;
