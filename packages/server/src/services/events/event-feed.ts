import { type AuditPosition, endOfLink, isAfter, linkBefore } from '../../core/nouns/audit-position.ts';
import type { AuditLink } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import { RequestError } from '@berth/protocol/request-error';

/**
 * The audit log as it grows. Subscribers read it by a cursor, so they also see events of other servers and
 * can resume where they were. A subscriber that is behind reads the log at its own pace; one poll serves all
 * that have caught up.
 */
export interface EventFeed {
  /** `after`: where to resume; `null` for new events only. */
  subscribe(options: SubscribeOptions): Subscription;
  /** Reads new events once for all subscribers. */
  poll(): Promise<void>;
  /** Sends a keep-alive to all, and ends subscribers that may no longer listen or no longer read. */
  beat(): Promise<void>;
  readonly subscriberCount: number;
  /** Throws if there are too many subscribers. */
  requireRoom(): void;
  /** Ends all subscribers and accepts no new ones. */
  close(): void;
}

interface SubscribeOptions {
  readonly after: AuditPosition | null;
  /** Whether the subscriber may still listen; checked at every beat, and before events are sent. */
  isStillAllowed(): Promise<boolean>;
}

export interface Subscription {
  /** The next item; `null` at the end. */
  next(): Promise<FeedItem | null>;
  end(): void;
}

/** `opened`: no later event is missed. */
export type FeedItem =
  | { readonly kind: 'opened' | 'beat' }
  | { readonly kind: 'links'; readonly links: readonly FeedLink[] };

/** A link with the index of its first event not sent yet. */
export interface FeedLink {
  readonly link: AuditLink;
  readonly from: number;
}

/** Each subscriber holds a connection. */
const MAX_SUBSCRIBERS = 100;

/** How much is read at once: links, and events in them. */
const PAGE_LINKS = 100;
const PAGE_EVENTS = 1000;

/** How much may wait for a slow subscriber; beyond that it is ended, and can resume with its last id. */
const MAX_WAITING_EVENTS = 5000;

export function createEventFeed(store: Pick<Store, 'read'>): EventFeed {
  const subscribers = new Set<Subscriber>();
  /** The position of those who have caught up; `null` if none has. */
  let cursor: number | null = null;
  let isClosed = false;

  const log: Log = {
    readOn: (position) => readOn(store, position),
    async findNewest() {
      const [link] = await store.read({ kind: 'list_audit', chain: null, before: null, limit: 1 });
      return link?.seq ?? 0;
    },
    /** Only a subscriber that has read as far as the poll can join it. */
    mayJoin(seq) {
      cursor ??= seq;
      return seq >= cursor;
    },
  };

  function requireRoom(): void {
    if (subscribers.size < MAX_SUBSCRIBERS) return;
    throw new RequestError(
      'too_many_subscribers',
      `${MAX_SUBSCRIBERS} clients are already following the events. End one of them, or try again later.`,
    );
  }

  return {
    subscribe(options) {
      requireRoom();
      const subscriber: Subscriber = new Subscriber(log, options, () => subscribers.delete(subscriber));
      subscribers.add(subscriber);
      if (isClosed) subscriber.end();
      return subscriber;
    },
    async poll() {
      const isAnyLive = () => [...subscribers].some((subscriber) => subscriber.isLive);
      if (!isAnyLive()) cursor = null;
      while (cursor !== null) {
        const links = await readOn(store, endOfLink(cursor));
        cursor = links.at(-1)?.seq ?? cursor;
        for (const subscriber of [...subscribers]) subscriber.push(links);
        if (!isFull(links)) return;
      }
    },
    async beat() {
      await Promise.all([...subscribers].map((subscriber) => subscriber.beat()));
    },
    get subscriberCount() {
      return subscribers.size;
    },
    requireRoom,
    close() {
      isClosed = true;
      for (const subscriber of [...subscribers]) subscriber.end();
    },
  };
}

/** What a subscriber needs of the feed. */
interface Log {
  readOn(position: AuditPosition): Promise<readonly AuditLink[]>;
  findNewest(): Promise<number>;
  mayJoin(seq: number): boolean;
}

function readOn(store: Pick<Store, 'read'>, position: AuditPosition): Promise<readonly AuditLink[]> {
  const scope = { chain: null, before: null, limit: PAGE_LINKS, eventLimit: PAGE_EVENTS };
  return store.read({ kind: 'list_audit', ...scope, after: linkBefore(position) });
}

/** Whether there may be more after a page. */
function isFull(links: readonly AuditLink[]): boolean {
  const events = links.reduce((sum, link) => sum + link.events.length, 0);
  return links.length >= PAGE_LINKS || events >= PAGE_EVENTS;
}

class Subscriber implements Subscription {
  readonly #log: Log;
  readonly #options: SubscribeOptions;
  readonly #onEnd: () => void;
  /** The position up to which everything was sent or queued; `null` before the start. */
  #position: AuditPosition | null = null;
  /** Whether the poll serves it; before that it reads by itself. */
  isLive = false;
  #waiting: FeedItem[] = [];
  #waitingEvents = 0;
  #hasTaken = false;
  #isEnded = false;
  #wake = () => {};

  constructor(log: Log, options: SubscribeOptions, onEnd: () => void) {
    this.#log = log;
    this.#options = options;
    this.#onEnd = onEnd;
  }

  async next(): Promise<FeedItem | null> {
    this.#hasTaken = true;
    if (this.#position === null && !this.#isEnded) {
      this.#position = await this.#findStart();
      return { kind: 'opened' };
    }
    while (!this.#isEnded) {
      const item = this.#waiting.shift();
      if (item !== undefined) {
        this.#waitingEvents -= countEvents(item);
        return this.#deliver(item);
      }
      const read = this.isLive ? await this.#sleep() : await this.#catchUp();
      if (read !== null) return this.#deliver(read);
    }
    return null;
  }

  /** What ends a session is an event, so the stream ends with it, and without that event. */
  async #deliver(item: FeedItem): Promise<FeedItem | null> {
    if (item.kind !== 'links' || (await this.#isAllowed())) return item;
    this.end();
    return null;
  }

  #isAllowed(): Promise<boolean> {
    return this.#options.isStillAllowed().catch(() => false);
  }

  /** Queues what the poll has read, except what this subscriber has already read. */
  push(links: readonly AuditLink[]): void {
    if (!this.isLive || this.#isEnded) return;
    const item = this.#take(links);
    if (item === null) return;
    this.#waiting.push(item);
    this.#waitingEvents += countEvents(item);
    // One poll may bring much; a subscriber that listens takes it before the next one.
    if (this.#waiting.length > 1 && this.#waitingEvents > MAX_WAITING_EVENTS) this.end();
    this.#wake();
  }

  /** A subscriber that has read nothing for a whole beat no longer listens. */
  async beat(): Promise<void> {
    const isAllowed = await this.#isAllowed();
    const isStuck = this.#waiting.length > 0 && !this.#hasTaken;
    this.#hasTaken = false;
    if (!isAllowed || isStuck) this.end();
    else if (this.#waiting.length === 0) this.#waiting.push({ kind: 'beat' });
    this.#wake();
  }

  end(): void {
    this.#isEnded = true;
    this.#waiting = [];
    this.#onEnd();
    this.#wake();
  }

  /** A position beyond the end of the log, as after a restore, means the end. */
  async #findStart(): Promise<AuditPosition> {
    const newest = endOfLink(await this.#log.findNewest());
    const { after } = this.#options;
    return after === null || isAfter(after, newest) ? newest : after;
  }

  async #catchUp(): Promise<FeedItem | null> {
    const links = await this.#log.readOn(this.#position as AuditPosition);
    const item = this.#take(links);
    const { seq } = this.#position as AuditPosition;
    if (!isFull(links) && this.#log.mayJoin(seq)) this.isLive = true;
    return item;
  }

  /** Returns the events of these links that were not sent yet, and marks them as sent. */
  #take(links: readonly AuditLink[]): FeedItem | null {
    const { seq, index } = this.#position as AuditPosition;
    const fresh = links
      .filter((link) => link.seq >= seq)
      .map((link) => ({ link, from: link.seq === seq ? index + 1 : 0 }))
      .filter(({ link, from }) => from < link.events.length);
    this.#position = endOfLink(Math.max(seq, links.at(-1)?.seq ?? 0));
    return fresh.length === 0 ? null : { kind: 'links', links: fresh };
  }

  async #sleep(): Promise<null> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    return null;
  }
}

function countEvents(item: FeedItem): number {
  if (item.kind !== 'links') return 0;
  return item.links.reduce((sum, { link, from }) => sum + link.events.length - from, 0);
}
