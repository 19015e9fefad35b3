/**
 * How often a value was at most each of the bounds. Noting one allocates nothing, because this happens on
 * every request.
 */
export class Histogram {
  /** Ascending, and inclusive. */
  readonly bounds: readonly number[];
  /** One for each bound, and one for what lies above the last. */
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  note(value: number): void {
    const { bounds } = this;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] as number)) index++;
    this.#counts[index] = (this.#counts[index] as number) + 1;
    this.#sum += value;
  }

  /** How many were at most each bound; the last is the number of all. */
  cumulate(): readonly number[] {
    let total = 0;
    return Array.from(this.#counts, (count) => {
      total += count;
      return total;
    });
  }

  get sum(): number {
    return this.#sum;
  }
}
