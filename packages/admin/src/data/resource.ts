import type { Exactly, GetAnswer, GetPath, GetQuery } from '@berth/protocol/admin/admin-api';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { readMonotonicMs } from '../clock.ts';
import { type ApiError, addressOf, read, toApiError, whenFree } from './api.ts';
import { followEvents } from './live.ts';

/** What the server answered last, and what went wrong since. */
export interface Resource<T> {
  readonly data: T | null;
  readonly error: ApiError | null;
  /** The server has no such path: an older one, or one without this part. */
  readonly isMissing: boolean;
  readonly reload: () => void;
}

interface Options {
  /** Reads again when something happens on the server. */
  readonly isLive?: boolean;
  /** Reads again after this time. */
  readonly everyMs?: number;
}

/** Answers by address, so that a screen that was seen before is there at once. */
const known = new Map<string, unknown>();

/** How many answers are kept. */
const MAX_KNOWN = 60;

const FIRST_WAIT_MS = 120;
/** Between two reads of the same address, at least, and at least three times as long as a read takes. */
const CALM_MS = 1000;

/** `path: null` reads nothing. */
export function useResource<P extends GetPath, Q extends GetQuery<P>>(
  path: P | null,
  params?: Q & Exactly<Q, GetQuery<P>>,
  options: Options = {},
): Resource<GetAnswer<P>> {
  const key = path === null ? null : addressOf(path, params);
  const [state, setState] = useState<{ key: string | null; error: ApiError | null; turn: number }>({
    key,
    error: null,
    turn: 0,
  });
  const reader = useMemo(() => (key === null ? null : new Reader(key, setState)), [key]);
  useEffect(() => reader?.start(options), [reader, options.isLive, options.everyMs]);
  const error = state.key === key ? state.error : null;
  return {
    data: key === null ? null : ((known.get(key) as GetAnswer<P> | undefined) ?? null),
    error: error?.status === 404 ? null : error,
    isMissing: error?.status === 404,
    reload: () => reader?.read(),
  };
}

/** Forgets all answers. */
export function forgetResources(): void {
  known.clear();
}

type SetState = (state: { key: string; error: ApiError | null; turn: number }) => void;

class Reader {
  readonly #key: string;
  readonly #setState: SetState;
  #control = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;
  #isDue = false;
  #isStopped = false;
  #turn = 0;
  #calmUntil = 0;

  constructor(key: string, setState: SetState) {
    this.#key = key;
    this.#setState = setState;
  }

  start({ isLive = false, everyMs }: Options): () => void {
    this.#isStopped = false;
    this.#control = new AbortController();
    void this.read();
    const end = isLive ? followEvents(() => this.#plan()) : () => {};
    const interval = everyMs === undefined ? undefined : setInterval(() => this.read(), everyMs);
    return () => {
      this.#isStopped = true;
      this.#control.abort();
      clearTimeout(this.#timer);
      clearInterval(interval);
      this.#timer = undefined;
      this.#isReading = false;
      end();
    };
  }

  /** Soon after the first event, and not again for a while. */
  #plan(): void {
    if (this.#timer !== undefined) return;
    const wait = Math.max(FIRST_WAIT_MS, this.#calmUntil - readMonotonicMs());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.read();
    }, wait);
  }

  async read(): Promise<void> {
    if (this.#isReading) {
      this.#isDue = true;
      return;
    }
    this.#isReading = true;
    this.#isDue = false;
    const startedMs = readMonotonicMs();
    const { signal } = this.#control;
    let error: ApiError | null = null;
    try {
      keep(this.#key, await whenFree(() => read(this.#key, signal), signal));
    } catch (failure) {
      if (signal.aborted) return;
      error = toApiError(failure);
    }
    if (signal.aborted || this.#isStopped) return;
    this.#isReading = false;
    const tookMs = readMonotonicMs() - startedMs;
    this.#calmUntil = readMonotonicMs() + Math.max(CALM_MS, 3 * tookMs);
    this.#turn += 1;
    this.#setState({ key: this.#key, error, turn: this.#turn });
    if (this.#isDue) this.#plan();
  }
}

function keep(key: string, data: unknown): void {
  known.delete(key);
  known.set(key, data);
  const [oldest] = known.keys();
  if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
}
