import type { BucketCount, HistogramStep } from './load-plan.ts';

/** Buckets grow by 2 %, from 10 microseconds to more than a minute: precise enough, however long it runs. */
const SMALLEST_MS = 0.01;
const GROWTH = Math.log(1.02);
const BUCKETS = 800;

const STEPS_MS = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 100_000];

function bucketOf(millis: number): number {
  if (millis <= SMALLEST_MS) return 0;
  return Math.min(BUCKETS - 1, Math.ceil(Math.log(millis / SMALLEST_MS) / GROWTH));
}

function upperEdge(bucket: number): number {
  return SMALLEST_MS * Math.exp(bucket * GROWTH);
}

/** Counts latencies and answers what share of them lies below what. */
export class LatencyHistogram {
  readonly #counts = new Float64Array(BUCKETS);
  #max = 0;
  #total = 0;

  get total(): number {
    return this.#total;
  }

  get max(): number {
    return this.#max;
  }

  record(millis: number): void {
    const bucket = bucketOf(millis);
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#total++;
    if (millis > this.#max) this.#max = millis;
  }

  /** Everything that another histogram has counted. */
  add(counts: readonly BucketCount[], max: number): void {
    for (const [bucket, count] of counts) {
      this.#counts[bucket] = (this.#counts[bucket] as number) + count;
      this.#total += count;
    }
    if (max > this.#max) this.#max = max;
  }

  /** To be added to another histogram. */
  counts(): BucketCount[] {
    const counts = [...this.#counts.entries()];
    return counts.filter(([, count]) => count > 0);
  }

  /** The latency that this share of requests did not exceed; 0 when nothing was recorded. */
  quantile(share: number): number {
    const wanted = share * this.#total;
    let seen = 0;
    for (const [bucket, count] of this.#counts.entries()) {
      seen += count;
      if (seen >= wanted && seen > 0) return Math.min(upperEdge(bucket), this.#max);
    }
    return this.#max;
  }

  steps(): HistogramStep[] {
    const steps = STEPS_MS.map((withinMs) => ({ withinMs, count: 0 }));
    for (const [bucket, count] of this.#counts.entries()) {
      const step = steps.find(({ withinMs }) => upperEdge(bucket) <= withinMs);
      if (step !== undefined) step.count += count;
    }
    return steps.filter(({ count }) => count > 0);
  }
}
