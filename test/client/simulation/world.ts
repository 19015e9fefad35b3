/** Simulated time, in which events happen one after the other. */
export class World {
  #nowMs = 0;
  #order = 0;
  readonly #underway: Promise<void>[] = [];
  readonly #events: { atMs: number; order: number; work: () => void }[] = [];

  get nowMs(): number {
    return this.#nowMs;
  }

  at(atMs: number, work: () => void): void {
    const event = { atMs: Math.max(atMs, this.#nowMs), order: this.#order++, work };
    let index = this.#events.length;
    while (index > 0 && isLater(event, this.#events[index - 1] as typeof event)) index--;
    this.#events.splice(index, 0, event);
  }

  /** Lets no time pass while something real is done. */
  wait(work: Promise<void>): void {
    this.#underway.push(work);
  }

  /** Calls `look` after every event and everything that follows from it. */
  async run(untilMs: number, look: () => void = () => {}): Promise<void> {
    await this.#settle();
    for (let event = this.#next(untilMs); event !== undefined; event = this.#next(untilMs)) {
      this.#nowMs = event.atMs;
      event.work();
      await this.#settle();
      look();
    }
    this.#nowMs = untilMs;
  }

  async #settle(): Promise<void> {
    do {
      await Promise.all(this.#underway.splice(0));
      await settle();
    } while (this.#underway.length > 0);
  }

  #next(untilMs: number) {
    const next = this.#events.at(-1);
    return next !== undefined && next.atMs <= untilMs ? this.#events.pop() : undefined;
  }
}

interface Place {
  readonly atMs: number;
  readonly order: number;
}

/** Sorted from the last to the first. */
function isLater(a: Place, b: Place): boolean {
  return a.atMs > b.atMs || (a.atMs === b.atMs && a.order > b.order);
}

/** Until all promises that can go on have done so. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
