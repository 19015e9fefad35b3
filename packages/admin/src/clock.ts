/** The only file that reads the browser's clock. */
export function readNow(): number {
  return Date.now();
}

/** Never runs back. */
export function readMonotonicMs(): number {
  return performance.now();
}
