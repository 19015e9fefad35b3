import type { BucketCount, HistogramStep } from './load-plan.ts';

/**
 * Every power of two of microseconds has 128 buckets of the same width, so that a value is known to within
 * 1 in 128 whatever its size, in a memory that stays the same however many are counted. Below 256 they are
 * exact.
 */
const SUB_BITS = 7;
const SUB_BUCKETS = 2 ** SUB_BITS;
const LARGEST_MICROS = 2 ** 31 - 1;
const BUCKETS = bucketOf(LARGEST_MICROS) + 1;

const STEPS_MS = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, Number.POSITIVE_INFINITY];

function bucketOf(micros: number): number {
  const shift = Math.max(0, 31 - Math.clz32(micros) - SUB_BITS);
  return shift * SUB_BUCKETS + (micros >>> shift);
}

/** The largest number of microseconds that is counted in this bucket. */
function upperEdge(bucket: number): number {
  const shift = Math.max(0, Math.floor(bucket / SUB_BUCKETS) - 1);
  return (bucket - shift * SUB_BUCKETS + 1) * 2 ** shift - 1;
}

/** Counts latencies in milliseconds and answers what share of them lies below what. */
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
    const micros = Math.min(LARGEST_MICROS, Math.ceil(millis * 1000));
    const bucket = bucketOf(micros);
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
      if (seen >= wanted && seen > 0) return Math.min(upperEdge(bucket) / 1000, this.#max);
    }
    return this.#max;
  }

  steps(): HistogramStep[] {
    const steps = STEPS_MS.map((withinMs) => ({ withinMs, count: 0 }));
    for (const [bucket, count] of this.#counts.entries()) {
      const step = steps.find(({ withinMs }) => upperEdge(bucket) / 1000 <= withinMs);
      if (step !== undefined) step.count += count;
    }
    return steps.filter(({ count }) => count > 0);
  }
}
