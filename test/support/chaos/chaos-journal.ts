import type { Fault } from './chaos-fault.ts';

/** A received request, or a connection that was closed before its request was read. */
export interface SeenRequest {
  /** Empty, like the path, if nothing was read. */
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly fault: Fault['kind'];
  /** The target's status; null until it responds. For a duplicate, the last one. */
  readonly targetStatus: number | null;
}

/** The requests a chaos proxy has received, and the tests that wait for more. */
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
