import { SECOND_MS } from '../nouns/instant.ts';
import { medianOf, quantileOf } from './grain.ts';

/** How many waits in the line were so long. */
interface CountedWaits {
  readonly seconds: number;
  readonly served: number;
  readonly unserved: number;
}

/** How long users really waited in the line. The lengths are `null` if there was no such wait. */
export interface WaitFigures {
  /** Waits that ended with a slot. */
  readonly served: number;
  readonly medianMs: number | null;
  /** Nine of ten were not longer. */
  readonly p90Ms: number | null;
  readonly longestMs: number | null;
  /** Waits that ended without a slot. */
  readonly unserved: number;
  readonly unservedMedianMs: number | null;
  readonly unservedLongestMs: number | null;
}

export function waitFigures(waits: readonly CountedWaits[]): WaitFigures {
  const served = waits.map(({ seconds, served: count }) => ({ value: seconds * SECOND_MS, count }));
  const unserved = waits.map(({ seconds, unserved: count }) => ({ value: seconds * SECOND_MS, count }));
  return {
    served: sumOf(served),
    medianMs: medianOf(served),
    p90Ms: quantileOf(served, 0.9),
    longestMs: quantileOf(served, 1),
    unserved: sumOf(unserved),
    unservedMedianMs: medianOf(unserved),
    unservedLongestMs: quantileOf(unserved, 1),
  };
}

function sumOf(counted: readonly { readonly count: number }[]): number {
  return counted.reduce((sum, { count }) => sum + count, 0);
}
