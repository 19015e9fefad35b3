import { Histogram } from '../../core/nouns/histogram.ts';

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The answers of one route. */
class RouteCounts {
  readonly durations = new Histogram(SECONDS);
  readonly #statuses = new Map<number, number>();

  note(status: number, durationMs: number): void {
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    this.durations.note(durationMs / 1000);
  }

  get statuses(): ReadonlyMap<number, number> {
    return this.#statuses;
  }
}

/** The answers of the server, by the names of its routes. */
export class RequestCounts {
  readonly #routes = new Map<string, RouteCounts>();

  of(route: string): RouteCounts {
    let counts = this.#routes.get(route);
    if (counts === undefined) {
      counts = new RouteCounts();
      this.#routes.set(route, counts);
    }
    return counts;
  }

  /** Those that were called. */
  list(): readonly (readonly [string, RouteCounts])[] {
    return [...this.#routes].filter(([, { statuses }]) => statuses.size > 0);
  }
}
