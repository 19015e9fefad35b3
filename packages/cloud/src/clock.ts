/** The clocks of the machine. Only this file reads them; all other code receives the time as a parameter. */
export interface Clock {
  /** The wall clock: milliseconds since 1970 in UTC. */
  readWallMs(): number;
  /** A monotonic clock in milliseconds; only differences are meaningful. */
  readMonotonicMs(): number;
}

export const systemClock: Clock = {
  readWallMs: () => Date.now(),
  readMonotonicMs: () => performance.now(),
};
