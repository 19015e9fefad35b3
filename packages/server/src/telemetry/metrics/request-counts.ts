import { Histogram } from '../../core/nouns/histogram.ts';

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The answers of one route. */
interface RouteCounts {
  readonly durations: Histogram;
  readonly statuses: Map<number, number>;
}

/** The answers of the server, by the names of its routes. */
export class RequestCounts {
  readonly #routes = new Map<string, RouteCounts>();

  note(route: string, status: number, durationMs: number): void {
    let counts = this.#routes.get(route);
    if (counts === undefined) {
      counts = { durations: new Histogram(SECONDS), statuses: new Map() };
      this.#routes.set(route, counts);
    }
    counts.statuses.set(status, (counts.statuses.get(status) ?? 0) + 1);
    counts.durations.note(durationMs / 1000);
  }

  /** Those that were called. */
  list(): readonly (readonly [string, RouteCounts])[] {
    return [...this.#routes];
  }
}
