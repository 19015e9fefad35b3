import { backOffMs } from '../../core/back-off.ts';
import type { DeliveryFacts } from '../../core/doctor/judge-links.ts';
import type { Actor } from '../../core/nouns/actor.ts';
import {
  type AuditPosition,
  endOfLink,
  eventId,
  type Follower,
  isAfter,
  linkBefore,
} from '../../core/nouns/audit-position.ts';
import { type Instant, MINUTE_MS, plus, SECOND_MS } from '../../core/nouns/instant.ts';
import type { Delivery, EventReceiver } from '../../receivers/event-receiver.ts';
import type { AuditLink } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log.ts';
import { type Page, type WaitingEvent, WaitingEvents } from './waiting-events.ts';

interface DeliveryStatus extends DeliveryFacts {
  readonly deliveredAt: Instant | null;
  /** Since the start. */
  readonly delivered: number;
}

export interface DeliveryTarget {
  /** Whether a receiver is configured. */
  readonly isOn: boolean;
  /** `null` if there is none, or if it cannot be used. */
  readonly receiver: EventReceiver | null;
  /** The kinds of events that it is told; `null`: all. */
  readonly kinds: ReadonlySet<string> | null;
  /** Why there is no secret to sign events for the configured receiver with. */
  readonly problem: string | null;
}

/** What became of a test event. */
export interface TestResult {
  readonly delivered: boolean;
  /** Of the answer; `null`: there was none. */
  readonly status: number | null;
  readonly durationMs: number;
  /** What went wrong, in a sentence. */
  readonly error: string | null;
}

export interface DeliveryOptions {
  readonly store: Store;
  readonly follower: Follower;
  /** The receiver, in a log line. */
  readonly called: string;
  /** When an event is dropped after it happened; `null`: never. */
  readonly giveUpMs: number | null;
  /** Where to send events, by the settings in force now. */
  readonly findTarget: () => Promise<DeliveryTarget>;
  readonly log: Log;
  readonly readMonotonicMs: () => number;
}

const PAGE_LINKS = 500;

/** How long a receiver that took nothing is left alone. */
export const BACK_OFF = { firstMs: SECOND_MS, longestMs: 5 * MINUTE_MS };

type Portion = readonly [WaitingEvent, ...WaitingEvent[]];

/**
 * Delivers events to a receiver, each at least once and in order. It follows the audit log by a stored
 * cursor, so that no request waits for it and a restart or crash loses nothing. While the receiver rejects
 * one event, the others wait.
 */
export class Deliveries {
  readonly #options: DeliveryOptions;
  #target: DeliveryTarget = NO_TARGET;
  #hasBegun = false;
  /** Everything up to here was delivered, dropped or not meant for the receiver. */
  #position: AuditPosition | null = null;
  /** The stored cursor, as it was last read or written. */
  #saved: AuditPosition | null = null;
  /** The last event that was delivered or dropped is not in the stored cursor yet. */
  #isUnsaved = false;
  #firstTry: { readonly id: string; readonly atMs: number } | null = null;
  #failures = 0;
  #nextTryMs = 0;
  #failing: Pick<DeliveryStatus, 'failingAt' | 'error'> = WELL;
  #deliveredAt: Instant | null = null;
  #delivered = 0;
  #dropped = 0;
  #dropReason = '';
  readonly #waiting = new WaitingEvents();

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** Sends an event to see whether it arrives, which the status tells. Events that wait are not affected. */
  async test(receiver: EventReceiver, by: Actor): Promise<TestResult> {
    const { store, readMonotonicMs } = this.#options;
    const [{ now }, startedMs] = [await store.keepClock(), readMonotonicMs()];
    const event = { kind: 'webhook_test', by } as const;
    const delivery = await receiver.send([{ id: `test-${now}`, licenseId: null, at: now, event }]);
    this.#noteTest(delivery, now);
    return {
      delivered: delivery.kind === 'delivered',
      status: 'status' in delivery ? delivery.status : null,
      durationMs: Math.round(readMonotonicMs() - startedMs),
      error: explainDelivery(delivery),
    };
  }

  /** The target by the settings in force. A new receiver starts without the failures of the last one. */
  async #findTarget(): Promise<DeliveryTarget> {
    const target = await this.#options.findTarget();
    if (target.receiver !== this.#target.receiver) this.#forgetFailures();
    this.#target = target;
    return target;
  }

  /** A new receiver gets new events only. */
  async begin(): Promise<void> {
    const { store, follower } = this.#options;
    if ((await this.#findTarget()).receiver === null) return;
    if ((await store.read({ kind: 'find_cursor', follower })) === null) {
      const [newest] = await store.read({ kind: 'list_audit', chain: null, before: null, limit: 1 });
      const position = endOfLink(newest?.seq ?? 0);
      await store.execute({ kind: 'set_cursor', follower, position, isFirst: true });
    }
    this.#hasBegun = true;
  }

  get called(): string {
    return this.#options.called;
  }

  /** Reads the log and sends what is due, while this server is the leader. */
  async deliver(): Promise<void> {
    const { receiver } = await this.#findTarget();
    if (receiver === null) return;
    if (!this.#hasBegun) await this.begin();
    const droppedBefore = this.#dropped;
    try {
      await this.#deliverAll(receiver);
    } finally {
      if (this.#dropped > droppedBefore) this.#logDrops(this.#dropped - droppedBefore);
    }
    // So that nobody who asks waits for it.
    if (this.#failures > 0) await this.#countWaiting();
  }

  async #deliverAll(receiver: EventReceiver): Promise<void> {
    const saved = await this.#findCursor();
    if (saved === null) return;
    let readNow: (() => Instant) | null = null;
    for (;;) {
      const page = await this.#readPage(this.#position ?? saved);
      if (page.events.length > 0) readNow ??= await this.#startClock();
      // An event is dropped alone.
      const most = this.#options.giveUpMs === null ? receiver.most : 1;
      for (const events of portion(page.events, most))
        if (!(await this.#deliverSome(events, receiver, readNow as () => Instant))) return this.#save();
      this.#position = page.end;
      // Now and then even without deliveries, so that a start has less to read.
      if (page.end.seq - saved.seq >= PAGE_LINKS) this.#isUnsaved = true;
      await this.#save();
      if (!page.isFull) return;
    }
  }

  /** Asked once per round, which may have a thousand events. */
  async #startClock(): Promise<() => Instant> {
    const { store, readMonotonicMs } = this.#options;
    const [{ now }, askedMs] = [await store.keepClock(), readMonotonicMs()];
    return () => plus(now, Math.floor(readMonotonicMs() - askedMs));
  }

  async describe(): Promise<DeliveryStatus> {
    const { isOn, problem } = await this.#findTarget();
    return {
      state: this.#stateOf(),
      deliveredAt: this.#deliveredAt,
      ...this.#failing,
      ...(problem === null ? {} : { error: problem }),
      waiting: !isOn ? 0 : await this.#countWaiting(),
      delivered: this.#delivered,
      dropped: this.#dropped,
    };
  }

  #stateOf(): DeliveryStatus['state'] {
    const { isOn, problem } = this.#target;
    if (!isOn) return 'off';
    if (problem !== null) return 'no_secret';
    if (this.#failing.failingAt !== null) return 'failing';
    return this.#deliveredAt === null ? 'untried' : 'ok';
  }

  /** Whether to continue with the next events at once. */
  async #deliverSome(events: Portion, receiver: EventReceiver, readNow: () => Instant): Promise<boolean> {
    const { store, readMonotonicMs } = this.#options;
    const [head] = events;
    // The last events may be delivered twice; the new leader continues with the rest.
    if (!store.isLeader()) return false;
    if (this.#isTooOld(head, readNow())) return this.#drop(head, 'it did not accept them in time');
    if (readMonotonicMs() < this.#nextTryMs) return false;
    // While the disk fails, deliveries cannot be recorded, and the same events would be sent repeatedly.
    await this.#save();
    if (this.#firstTry?.id !== head.id) this.#firstTry = { id: head.id, atMs: readMonotonicMs() };
    const delivery = await receiver.send(events);
    switch (delivery.kind) {
      case 'delivered':
        this.#noteDelivered(events, readNow());
        return true;
      case 'gone':
        this.#noteTaken();
        return this.#drop(head, 'it refused them permanently (410)');
      case 'failed':
        this.#noteFailure(delivery.reason, readNow());
        return false;
      case 'stopping':
        return false;
    }
  }

  /** The server's time may have been set back, so a monotonic clock decides, too. */
  #isTooOld({ id, at }: WaitingEvent, now: Instant): boolean {
    const { giveUpMs, readMonotonicMs } = this.#options;
    const triedMs = this.#firstTry?.id === id ? readMonotonicMs() - this.#firstTry.atMs : 0;
    return giveUpMs !== null && (now >= at + giveUpMs || triedMs >= giveUpMs);
  }

  #settle({ position }: WaitingEvent): void {
    this.#position = position;
    this.#isUnsaved = true;
  }

  #drop(event: WaitingEvent, reason: string): true {
    this.#settle(event);
    this.#dropped += 1;
    this.#dropReason = reason;
    return true;
  }

  #noteDelivered(events: Portion, now: Instant): void {
    this.#settle(events.at(-1) as WaitingEvent);
    this.#delivered += events.length;
    this.#deliveredAt = now;
    this.#noteTaken();
  }

  /** What became of events that wait says more. */
  #noteTest(delivery: Delivery, now: Instant): void {
    const isDelivered = delivery.kind === 'delivered';
    if (isDelivered) {
      this.#delivered += 1;
      this.#deliveredAt = now;
    }
    if (this.#failures > 0) return;
    if (isDelivered) this.#failing = WELL;
    if (delivery.kind === 'failed') {
      this.#failing = { failingAt: this.#failing.failingAt ?? now, error: delivery.reason };
    }
  }

  #noteTaken(): void {
    if (this.#failures > 0) this.#options.log.info(`${this.#options.called} answers again`);
    this.#forgetFailures();
  }

  #forgetFailures(): void {
    this.#failures = 0;
    this.#nextTryMs = 0;
    this.#failing = WELL;
  }

  #noteFailure(reason: string, now: Instant): void {
    const { log, called, readMonotonicMs } = this.#options;
    if (this.#failures === 0) log.warn({ reason }, `${called} does not accept events; they are kept`);
    this.#failures += 1;
    this.#nextTryMs = readMonotonicMs() + backOffMs(this.#failures, BACK_OFF, Math.random());
    this.#failing = { failingAt: this.#failing.failingAt ?? now, error: reason };
  }

  #logDrops(count: number): void {
    const facts = { dropped: count, reason: this.#dropReason };
    this.#options.log.warn(facts, `events for ${this.#options.called} were dropped`);
  }

  /**
   * The stored cursor. Another server may have moved it beyond this one's position. It only goes back if the
   * database was replaced by a standby that was behind, which counts the events anew from there.
   */
  async #findCursor(): Promise<AuditPosition | null> {
    const { store, follower } = this.#options;
    const saved = await store.read({ kind: 'find_cursor', follower });
    if (saved !== null && this.#continueFrom(saved) === saved) {
      this.#position = saved;
      this.#isUnsaved = false;
    }
    this.#saved = saved;
    return saved;
  }

  /** The stored cursor, or this server's position if it is further. */
  #continueFrom(saved: AuditPosition): AuditPosition {
    const isSetBack = this.#saved !== null && isAfter(this.#saved, saved);
    const isBehind = this.#position === null || isAfter(saved, this.#position);
    return isSetBack || isBehind ? saved : (this.#position as AuditPosition);
  }

  /** A round may be under way meanwhile, so this changes no cursor. */
  async #countWaiting(): Promise<number> {
    const { store, follower } = this.#options;
    const saved = await store.read({ kind: 'find_cursor', follower });
    if (saved === null) return 0;
    const kinds = [...(this.#target.kinds ?? [])].join();
    return this.#waiting.count(this.#continueFrom(saved), kinds, (after) => this.#readPage(after));
  }

  async #readPage(after: AuditPosition): Promise<Page> {
    const scope = { chain: null, before: null, limit: PAGE_LINKS };
    const links = await this.#options.store.read({ kind: 'list_audit', ...scope, after: linkBefore(after) });
    const events = links.flatMap((link) => this.#pick(link, after));
    return { events, end: endOfLink(links.at(-1)?.seq ?? after.seq), isFull: links.length >= PAGE_LINKS };
  }

  #pick({ seq, chain, at, events }: AuditLink, after: AuditPosition): readonly WaitingEvent[] {
    const licenseId = chain === 0 ? null : chain;
    const { kinds } = this.#target;
    return events
      .map((event, index) => ({ event, position: { seq, index } }))
      .filter(({ event, position }) => (kinds === null || kinds.has(event.kind)) && isAfter(position, after))
      .map(({ event, position }) => ({ id: eventId(position), licenseId, at, event, position }));
  }

  async #save(): Promise<void> {
    const position = this.#position;
    if (!this.#isUnsaved || position === null) return;
    const { store, follower } = this.#options;
    await store.execute({ kind: 'set_cursor', follower, position });
    this.#saved = position;
    this.#isUnsaved = false;
  }
}

function* portion(events: readonly WaitingEvent[], most: number): Generator<Portion> {
  for (let at = 0; at < events.length; at += most) {
    yield events.slice(at, at + most) as unknown as Portion;
  }
}

const NO_TARGET: DeliveryTarget = { isOn: false, receiver: null, kinds: null, problem: null };

function explainDelivery(delivery: Delivery): string | null {
  switch (delivery.kind) {
    case 'delivered':
      return null;
    case 'gone':
      return 'The receiver answered with status 410: it takes no events any more.';
    case 'failed':
      return `The test event was not delivered: ${delivery.reason.replace(/^it /, 'the receiver ')}.`;
    case 'stopping':
      return 'The server is stopping.';
  }
}

const WELL = { failingAt: null, error: null } as const;
