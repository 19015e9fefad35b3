/** The only file that reads clocks. */
export const MACHINE_CLOCKS = {
  readMonotonicMs: (): number => performance.now(),
  readWallMs: (): number => Date.now(),
};
