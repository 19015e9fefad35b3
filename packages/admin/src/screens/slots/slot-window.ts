import type { Slot } from '@berth/protocol/admin/registrations';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { readMonotonicMs } from '../../clock.ts';
import { type ApiError, get, toApiError } from '../../data/api.ts';
import { followEvents } from '../../data/live.ts';
import type { SlotQuery } from './slot-filters.ts';

/** Rows are fetched in parts of this size. */
const PART = 100;

/** Between two refreshes of what is on the screen. */
const CALM_MS = 1000;

/** Parts far from the screen are forgotten. */
const MAX_PARTS = 30;

/** A long list of which only the visible part is fetched. */
export interface SlotWindow {
  readonly matched: number | null;
  readonly error: ApiError | null;
  find(index: number): Slot | undefined;
  /** Says which rows are on the screen. */
  show(from: number, to: number): void;
  reload(): void;
}

export function useSlotWindow(query: SlotQuery): SlotWindow {
  const key = JSON.stringify(query);
  const [, redraw] = useState({});
  const list = useMemo(() => new PartList(query, () => redraw({})), [key]);
  useEffect(() => list.start(), [list]);
  return list;
}

class PartList implements SlotWindow {
  readonly #query: SlotQuery;
  readonly #redraw: () => void;
  readonly #parts = new Map<number, readonly Slot[]>();
  readonly #wanted = new Set<number>();
  #control = new AbortController();
  #visible: readonly [number, number] = [0, 0];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #calmUntil = 0;
  matched: number | null = null;
  error: ApiError | null = null;

  constructor(query: SlotQuery, redraw: () => void) {
    this.#query = query;
    this.#redraw = redraw;
  }

  start(): () => void {
    this.#control = new AbortController();
    this.#fetch(0);
    const end = followEvents(() => this.#plan());
    // A slot that ends has no event until the list is read.
    const interval = setInterval(() => this.reload(), 30_000);
    return () => {
      end();
      clearInterval(interval);
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#control.abort();
      this.#wanted.clear();
    };
  }

  find(index: number): Slot | undefined {
    return this.#parts.get(Math.floor(index / PART))?.[index % PART];
  }

  show(from: number, to: number): void {
    const [first, last] = [Math.floor(Math.max(0, from) / PART), Math.floor(Math.max(0, to) / PART)];
    this.#visible = [first, last];
    for (let part = first; part <= last; part++) if (!this.#parts.has(part)) this.#fetch(part);
  }

  reload(): void {
    const [first, last] = this.#visible;
    for (let part = first; part <= last; part++) this.#fetch(part);
  }

  #plan(): void {
    if (this.#timer !== undefined) return;
    const wait = Math.max(100, this.#calmUntil - readMonotonicMs());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#calmUntil = readMonotonicMs() + CALM_MS;
      this.reload();
    }, wait);
  }

  async #fetch(part: number): Promise<void> {
    if (this.#wanted.has(part)) return;
    this.#wanted.add(part);
    const { signal } = this.#control;
    try {
      const query = { ...this.#query, offset: part * PART, limit: PART };
      const { matched, registrations } = await get('/api/admin/registrations', query, signal);
      this.#keep(part, registrations);
      this.matched = matched;
      this.error = null;
    } catch (error) {
      if (signal.aborted) return;
      this.error = toApiError(error);
    }
    this.#wanted.delete(part);
    this.#redraw();
  }

  #keep(part: number, slots: readonly Slot[]): void {
    this.#parts.set(part, slots);
    const [first, last] = this.#visible;
    const far = [...this.#parts.keys()].filter((one) => one < first - 2 || one > last + 2);
    if (this.#parts.size > MAX_PARTS) for (const one of far) this.#parts.delete(one);
  }
}
