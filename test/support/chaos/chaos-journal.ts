import type { Fault } from './chaos-fault.ts';

/** A request that came, or a connection that was closed before one could. */
export interface SeenRequest {
  /** Empty, as the path, where nothing was read. */
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly fault: Fault['kind'];
  /** What the target answered to it; null as long as it has not. Of a duplicate, the last answer. */
  readonly targetStatus: number | null;
}

/** What a chaos proxy has seen, and who waits for it to see more. */
export class Journal {
  readonly requests: { -readonly [K in keyof SeenRequest]: SeenRequest[K] }[] = [];
  readonly #waiting = new Set<() => void>();

  add(method: string, path: string, fault: Fault['kind']) {
    const seen = { method, path, fault, targetStatus: null as number | null };
    this.requests.push(seen);
    this.#tell();
    return (status: number) => {
      seen.targetStatus = status;
      this.#tell();
    };
  }

  waitFor(condition: (requests: readonly SeenRequest[]) => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const ask = () => {
      if (!condition(this.requests)) return;
      this.#waiting.delete(ask);
      resolve();
    };
    this.#waiting.add(ask);
    ask();
    return promise;
  }

  #tell(): void {
    for (const ask of this.#waiting) ask();
  }
}
