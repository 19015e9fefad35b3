/** The clocks of the machine. The only file that reads them; everything else is handed the time. */
export interface Clock {
  /** What the machine believes the date to be: milliseconds since 1970 in UTC. */
  readWallMs(): number;
  /** Milliseconds that never run back; only differences mean anything. */
  readMonotonicMs(): number;
}

export const systemClock: Clock = {
  readWallMs: () => Date.now(),
  readMonotonicMs: () => performance.now(),
};
