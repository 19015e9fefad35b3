import { RequestError } from '@berth/protocol/request-error';
import { type AuditPosition, endOfLink, isAfter, linkBefore } from '../../core/nouns/audit-position.ts';
import type { AuditLink } from '../../store/query.ts';
import type { Store } from '../../store/store.ts';

/**
 * The audit log as it grows. Each subscriber reads it by a cursor, at its own pace, so it also sees events of
 * other servers and can resume where it was.
 */
export interface EventFeed {
  /** `after`: where to resume; `null` for new events only. */
  subscribe(options: SubscribeOptions): Subscription;
  /** Tells all subscribers if there are new events. */
  poll(): Promise<void>;
  /** Sends a keep-alive to all, and ends subscribers that may no longer listen or no longer read. */
  beat(): Promise<void>;
  readonly subscriberCount: number;
  /** Throws if there are too many subscribers, or too many of this caller. */
  requireRoom(caller: string): void;
  /** Ends all subscribers and accepts no new ones. */
  close(): void;
}

interface SubscribeOptions {
  readonly caller: string;
  readonly after: AuditPosition | null;
  /** Leaves the links that the subscriber may see; without it, all. */
  pick?(links: readonly AuditLink[]): Promise<readonly AuditLink[]>;
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
/** Each tab of a browser is one. */
const MAX_OF_CALLER = 25;

/** How much is read at once: links, and events in them. */
const PAGE_LINKS = 100;
const PAGE_EVENTS = 1000;

export function createEventFeed(store: Pick<Store, 'read'>): EventFeed {
  const subscribers = new Map<Subscriber, string>();
  let newest = 0;
  let isClosed = false;

  function requireRoom(caller: string): void {
    const own = subscribers.values().filter((one) => one === caller);
    if (subscribers.size < MAX_SUBSCRIBERS && own.toArray().length < MAX_OF_CALLER) return;
    throw new RequestError(
      'too_many_subscribers',
      `${MAX_SUBSCRIBERS} clients follow the events already, or ${MAX_OF_CALLER} of yours. End one of them.`,
    );
  }

  return {
    subscribe(options) {
      requireRoom(options.caller);
      const subscriber: Subscriber = new Subscriber(store, options, () => subscribers.delete(subscriber));
      subscribers.set(subscriber, options.caller);
      if (isClosed) subscriber.end();
      return subscriber;
    },
    async poll() {
      if (subscribers.size === 0) return;
      const found = await findNewest(store);
      if (found === newest) return;
      newest = found;
      for (const subscriber of subscribers.keys()) subscriber.notify(newest);
    },
    async beat() {
      await Promise.all([...subscribers.keys()].map((subscriber) => subscriber.beat()));
    },
    get subscriberCount() {
      return subscribers.size;
    },
    requireRoom,
    close() {
      isClosed = true;
      for (const subscriber of [...subscribers.keys()]) subscriber.end();
    },
  };
}

type AuditLog = Pick<Store, 'read'>;

async function findNewest(log: AuditLog): Promise<number> {
  const [link] = await log.read({ kind: 'list_audit', chain: null, before: null, limit: 1 });
  return link?.seq ?? 0;
}

/** Whether there may be more after a page. */
function isFull(links: readonly AuditLink[]): boolean {
  const events = links.reduce((sum, link) => sum + link.events.length, 0);
  return links.length >= PAGE_LINKS || events >= PAGE_EVENTS;
}

class Subscriber implements Subscription {
  readonly #log: AuditLog;
  readonly #options: SubscribeOptions;
  readonly #onEnd: () => void;
  /** The position up to which everything was sent; `null` before the start. */
  #position: AuditPosition | null = null;
  /** The log may have more. */
  #hasNews = false;
  #isBeatDue = false;
  #hasTaken = false;
  #isEnded = false;
  #wake = () => {};

  constructor(log: AuditLog, options: SubscribeOptions, onEnd: () => void) {
    this.#log = log;
    this.#options = options;
    this.#onEnd = onEnd;
  }

  async next(): Promise<FeedItem | null> {
    this.#hasTaken = true;
    if (this.#position === null && !this.#isEnded) {
      this.#position = await this.#findStart();
      this.#hasNews = true;
      return { kind: 'opened' };
    }
    while (!this.#isEnded) {
      const item = await this.#findNext();
      if (item !== null) return this.#deliver(item);
    }
    return null;
  }

  /** A beat goes first: whoever may see nothing of a busy log must not seem to be gone. */
  async #findNext(): Promise<FeedItem | null> {
    if (!this.#hasNews && !this.#isBeatDue)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    if (!this.#isBeatDue) return this.#hasNews ? this.#readOn(this.#position as AuditPosition) : null;
    this.#isBeatDue = false;
    return { kind: 'beat' };
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

  /** A log that has become shorter is that of a standby which was behind: it goes on from its end. */
  notify(newest: number): void {
    if (this.#position !== null && this.#position.seq > newest) this.#position = endOfLink(newest);
    this.#hasNews = true;
    this.#wake();
  }

  /** A subscriber that has read nothing for a whole beat no longer listens. */
  async beat(): Promise<void> {
    const isAllowed = await this.#isAllowed();
    const isStuck = (this.#isBeatDue || this.#hasNews) && !this.#hasTaken;
    this.#hasTaken = false;
    if (!isAllowed || isStuck) return this.end();
    this.#isBeatDue = true;
    this.#wake();
  }

  end(): void {
    this.#isEnded = true;
    this.#onEnd();
    this.#wake();
  }

  /** A position beyond the end of the log, as after a restore, means the end. */
  async #findStart(): Promise<AuditPosition> {
    const newest = endOfLink(await findNewest(this.#log));
    const { after } = this.#options;
    return after === null || isAfter(after, newest) ? newest : after;
  }

  /** The events after a position. What is written meanwhile may be news again. */
  async #readOn({ seq, index }: AuditPosition): Promise<FeedItem | null> {
    this.#hasNews = false;
    const scope = { chain: null, before: null, limit: PAGE_LINKS, eventLimit: PAGE_EVENTS };
    const after = linkBefore({ seq, index });
    const links = await this.#log.read({ kind: 'list_audit', ...scope, after });
    if (isFull(links)) this.#hasNews = true;
    const seen = (await this.#options.pick?.(links)) ?? links;
    const fresh = seen
      .map((link) => ({ link, from: link.seq === seq ? index + 1 : 0 }))
      .filter(({ link, from }) => from < link.events.length);
    const last = links.at(-1);
    if (last !== undefined) this.#position = endOfLink(last.seq);
    return fresh.length === 0 ? null : { kind: 'links', links: fresh };
  }
}
