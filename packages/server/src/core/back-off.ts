/** How long to wait after failures: twice as long each time, up to a limit. */
interface BackOff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Far beyond every limit; without it the doubling would end at infinity. */
const MAX_DOUBLINGS = 30;

/**
 * How long to wait after so many failures in a row, one or more. `chance`, between 0 and 1, takes off up to
 * half of it, so that those who failed together do not all come back together; 1 takes off nothing.
 */
export function backOffMs(failures: number, { firstMs, longestMs }: BackOff, chance: number): number {
  const wholeMs = Math.min(firstMs * 2 ** Math.min(failures - 1, MAX_DOUBLINGS), longestMs);
  return wholeMs * (0.5 + chance / 2);
}
