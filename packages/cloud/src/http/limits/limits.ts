/** The limits for callers, which may be strangers, beside those of `@berth/web`; see `docs/cloud.md`. */
export const LIMITS = {
  connections: 5000,
  connectionsPerAddress: 100,
  /** Concurrent form uploads: anyone may send them, and each holds its file in memory. */
  forms: 64,
  formsPerAddress: 8,
  /** Wrong license keys, users and codes: the burst, then the interval in milliseconds. */
  guesses: 30,
  guessEveryMs: 2000,
  /** Requests of one client network that wait for others; each takes milliseconds. */
  guessesWaiting: 256,
  /** How many client networks are tracked; the least recent one is dropped. */
  countedAddresses: 50_000,
} as const;
