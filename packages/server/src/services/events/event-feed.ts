import { type AuditPosition, endOfLink, isAfter, linkBefore } from '../../core/nouns/audit-position.ts';
import type { AuditLink } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';
import { RequestError } from '../request-error.ts';

/**
 * The audit log as it grows. Whoever follows it reads it by a cursor, so that nothing has to be told by the
 * server that wrote it, and somebody who comes back goes on where they were. One who is behind reads the log
 * at their own pace; all who have caught up are served by one poll.
 */
export interface EventFeed {
  /** `after`: where to go on; `null`: with what happens from now on. */
  subscribe(options: SubscribeOptions): Subscription;
  /** Reads what is new, once for all. */
  poll(): Promise<void>;
  /** Gives a sign of life to all, and ends those who must not or do not listen any more. */
  beat(): Promise<void>;
  readonly subscriberCount: number;
  /** Throws when no more can follow. */
  requireRoom(): void;
  /** Ends all, and lets nobody begin. */
  close(): void;
}

interface SubscribeOptions {
  readonly after: AuditPosition | null;
  /** Whether they may still listen; asked at every beat. */
  isStillAllowed(): Promise<boolean>;
}

export interface Subscription {
  /** The next thing to tell; `null`: it is over. */
  next(): Promise<FeedItem | null>;
  end(): void;
}

/** `opened`: from here on nothing is missed. */
export type FeedItem =
  | { readonly kind: 'opened' | 'beat' }
  | { readonly kind: 'links'; readonly links: readonly FeedLink[] };

/** A link, of which the events from one on were not told yet. */
export interface FeedLink {
  readonly link: AuditLink;
  readonly from: number;
}

/** Each holds a connection, and is a person or a program that watches. */
const MAX_SUBSCRIBERS = 100;

/** What is read at once: links, and events in them. */
const PAGE_LINKS = 100;
const PAGE_EVENTS = 1000;

/** What may wait for one who is slow; beyond it they are ended, and may come back with what they had last. */
const MAX_WAITING_EVENTS = 5000;

export function createEventFeed(store: Pick<Store, 'read'>): EventFeed {
  const subscribers = new Set<Subscriber>();
  /** Up to where those who have caught up were told; `null`: nobody has. */
  let cursor: number | null = null;
  let isClosed = false;

  const log: Log = {
    readOn: (position) => readOn(store, position),
    async findNewest() {
      const [link] = await store.read({ kind: 'list_audit', chain: null, before: null, limit: 1 });
      return link?.seq ?? 0;
    },
    /** Only who has read as far as the poll has can go on with it. */
    mayJoin(seq) {
      cursor ??= seq;
      return seq >= cursor;
    },
  };

  function requireRoom(): void {
    if (subscribers.size < MAX_SUBSCRIBERS) return;
    throw new RequestError(
      'too_many_subscribers',
      `${MAX_SUBSCRIBERS} callers follow the events already. End one of them, or try again later.`,
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

/** Whether there may be more behind a page. */
function isFull(links: readonly AuditLink[]): boolean {
  const events = links.reduce((sum, link) => sum + link.events.length, 0);
  return links.length >= PAGE_LINKS || events >= PAGE_EVENTS;
}

class Subscriber implements Subscription {
  readonly #log: Log;
  readonly #options: SubscribeOptions;
  readonly #onEnd: () => void;
  /** Up to where everything was told, or waits; `null`: it has not begun. */
  #position: AuditPosition | null = null;
  /** The poll tells what is new; before, it reads for itself. */
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
        return item;
      }
      const read = this.isLive ? await this.#sleep() : await this.#catchUp();
      if (read !== null) return read;
    }
    return null;
  }

  /** The poll has read these; what this one has read for itself is not told again. */
  push(links: readonly AuditLink[]): void {
    if (!this.isLive || this.#isEnded) return;
    const item = this.#take(links);
    if (item === null) return;
    this.#waiting.push(item);
    this.#waitingEvents += countEvents(item);
    // What one poll has brought may be much, and is taken by whoever listens before the next.
    if (this.#waiting.length > 1 && this.#waitingEvents > MAX_WAITING_EVENTS) this.end();
    this.#wake();
  }

  /** One for whom something has waited for a whole beat does not listen any more. */
  async beat(): Promise<void> {
    const isAllowed = await this.#options.isStillAllowed().catch(() => false);
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

  /** A place that the log never reached, as after a restore, is now. */
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

  /** What of these links was not told yet; from now on it was. */
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
