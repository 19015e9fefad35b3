import type { GetAnswer, GetQuery } from '@berth/protocol/admin/admin-api';
import type { AuditEvent } from '@berth/protocol/admin/audit';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { type ApiError, get, toApiError } from '../../data/api.ts';
import { followEvents } from '../../data/live.ts';

/** Events in one part of the log. */
const PART = 200;
const CALM_MS = 1000;

type Query = GetQuery<'/api/admin/audit'>;
type Page = GetAnswer<'/api/admin/audit'>;

/** The newest events first; older ones are fetched when they come into view. */
export interface AuditLog {
  readonly events: readonly AuditEvent[];
  readonly error: ApiError | null;
  readonly isLoaded: boolean;
  readonly hasMore: boolean;
  readMore(): void;
  reload(): void;
}

export function useAuditLog(query: Query): AuditLog {
  const key = JSON.stringify(query);
  const [, redraw] = useState({});
  const log = useMemo(() => new Log(query, () => redraw({})), [key]);
  useEffect(() => log.start(), [log]);
  return log;
}

class Log implements AuditLog {
  readonly #query: Query;
  readonly #redraw: () => void;
  #control = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;
  #next: number | null = null;
  events: readonly AuditEvent[] = [];
  error: ApiError | null = null;
  isLoaded = false;
  hasMore = true;

  constructor(query: Query, redraw: () => void) {
    this.#query = query;
    this.#redraw = redraw;
  }

  start(): () => void {
    this.#control = new AbortController();
    this.#isReading = false;
    this.readMore();
    const end = followEvents(() => {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        void this.#readNew();
      }, CALM_MS);
    });
    return () => {
      end();
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#control.abort();
    };
  }

  readMore(): void {
    if (this.#isReading || !this.hasMore) return;
    void this.#read({ before: this.#next }, ({ events, next_before: next }) => {
      this.#next = next;
      this.hasMore = next !== null;
      this.events = [...this.events, ...events];
      // A search goes through the log in parts, of which some have nothing.
      if (events.length === 0) queueMicrotask(() => this.readMore());
    });
  }

  reload(): void {
    this.error = null;
    this.hasMore = true;
    this.events = [];
    this.#next = null;
    this.readMore();
  }

  #readNew(): Promise<void> {
    return this.#read({}, ({ events }) => {
      const newest = this.events[0]?.seq ?? 0;
      this.events = [...events.filter(({ seq }) => seq > newest), ...this.events];
    });
  }

  async #read(place: Query, take: (page: Page) => void): Promise<void> {
    this.#isReading = true;
    const { signal } = this.#control;
    try {
      const query = { ...this.#query, ...place, limit: PART };
      const page = await get('/api/admin/audit', query, signal);
      this.#isReading = false;
      take(page);
      this.error = null;
      this.isLoaded = true;
    } catch (error) {
      if (signal.aborted) return;
      this.#isReading = false;
      this.error = toApiError(error);
      this.hasMore = false;
    }
    this.#redraw();
  }
}
