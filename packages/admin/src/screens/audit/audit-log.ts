import { useEffect, useMemo, useState } from 'preact/hooks';
import { ApiError, get, type Params } from '../../data/api.ts';
import { followEvents } from '../../data/live.ts';
import type { AuditEvent } from '../../data/wire.ts';

/** Links in one part of the log. */
const PART = 200;
const CALM_MS = 1000;

/** The newest events first; older ones are fetched when they come into view. */
export interface AuditLog {
  readonly events: readonly AuditEvent[];
  readonly error: ApiError | null;
  readonly isLoaded: boolean;
  readonly hasMore: boolean;
  readMore(): void;
  reload(): void;
}

export function useAuditLog(query: Params): AuditLog {
  const key = JSON.stringify(query);
  const [, redraw] = useState({});
  const log = useMemo(() => new Log(query, () => redraw({})), [key]);
  useEffect(() => log.start(), [log]);
  return log;
}

class Log implements AuditLog {
  readonly #query: Params;
  readonly #redraw: () => void;
  #control = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;
  events: readonly AuditEvent[] = [];
  error: ApiError | null = null;
  isLoaded = false;
  hasMore = true;

  constructor(query: Params, redraw: () => void) {
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
    const last = this.events.at(-1);
    void this.#read(last === undefined ? {} : { before: last.seq }, (found) => {
      this.hasMore = found.length > 0;
      this.events = [...this.events, ...found];
    });
  }

  reload(): void {
    this.error = null;
    this.hasMore = true;
    this.events = [];
    this.readMore();
  }

  #readNew(): Promise<void> {
    return this.#read({}, (found) => {
      const newest = this.events[0]?.seq ?? 0;
      this.events = [...found.filter(({ seq }) => seq > newest), ...this.events];
    });
  }

  async #read(place: Params, take: (found: readonly AuditEvent[]) => void): Promise<void> {
    this.#isReading = true;
    const { signal } = this.#control;
    try {
      const query = { ...this.#query, ...place, limit: PART };
      take((await get<{ events: readonly AuditEvent[] }>('api/admin/audit', query, signal)).events);
      this.error = null;
      this.isLoaded = true;
    } catch (error) {
      if (signal.aborted) return;
      this.error = error instanceof ApiError ? error : new ApiError(0, 'unknown', String(error));
      this.hasMore = false;
    }
    this.#isReading = false;
    this.#redraw();
  }
}
