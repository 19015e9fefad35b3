/**
 * Work that costs much and that several may want at once. One run at a time: who asks meanwhile shares the
 * next one with all others who do, because the one under way may have begun before what they want to be sure
 * of.
 */
export class SharedRun<T> {
  readonly #run: () => Promise<T>;
  #running: Promise<T> | null = null;
  #next: Promise<T> | null = null;

  constructor(run: () => Promise<T>) {
    this.#run = run;
  }

  ask(): Promise<T> {
    if (this.#next !== null) return this.#next;
    if (this.#running === null) return this.#begin();
    const begin = () => this.#begin();
    this.#next = this.#running.then(begin, begin);
    return this.#next;
  }

  /** Resolves when nothing runs or waits any more, whatever has become of it. */
  async settle(): Promise<void> {
    await Promise.allSettled([this.#running, this.#next]);
  }

  #begin(): Promise<T> {
    this.#next = null;
    this.#running = this.#run().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }
}
