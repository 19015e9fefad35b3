const FIRST_MS = 500;
const DOUBLINGS = 10;

/** How long to wait after failures: longer each time, and never the same for two clients. */
export function backOffMs(failures: number, longestMs: number, random: () => number): number {
  const fullMs = Math.min(longestMs, FIRST_MS * 2 ** Math.min(failures, DOUBLINGS));
  return fullMs * (0.5 + random() / 2);
}
