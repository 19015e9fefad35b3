import type { Instant } from '../nouns/instant.ts';

interface Due<T> {
  readonly at: Instant;
  readonly what: T;
}

/** What ends by time alone, the next first: a binary heap. */
export class Timetable<T> {
  readonly #heap: Due<T>[] = [];

  add(at: Instant, what: T): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push({ at, what });
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if ((heap[parent] as Due<T>).at <= at) break;
      this.#swap(index, parent);
      index = parent;
    }
  }

  /** Removes and returns the next that is due by then. */
  take(now: Instant): Due<T> | null {
    const heap = this.#heap;
    const [first] = heap;
    if (first === undefined || first.at > now) return null;
    const last = heap.pop() as Due<T>;
    if (heap.length === 0) return first;
    heap[0] = last;
    this.#sink();
    return first;
  }

  #sink(): void {
    const heap = this.#heap;
    const atOf = (index: number) => heap[index]?.at ?? Number.POSITIVE_INFINITY;
    for (let index = 0; ; ) {
      const left = 2 * index + 1;
      const least = atOf(left + 1) < atOf(left) ? left + 1 : left;
      if (atOf(index) <= atOf(least)) return;
      this.#swap(index, least);
      index = least;
    }
  }

  #swap(a: number, b: number): void {
    const heap = this.#heap;
    [heap[a], heap[b]] = [heap[b] as Due<T>, heap[a] as Due<T>];
  }
}
