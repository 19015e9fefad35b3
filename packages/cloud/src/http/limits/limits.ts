/** All limits for callers, which may be strangers. `docs/vendors.md` documents them. */
export const LIMITS = {
  /** Slow clients occupy connections; honest ones need milliseconds. */
  handshakeTimeoutMs: 10_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  /** An idle connection: no request arrives, or the client does not read the response. */
  silenceTimeoutMs: 15_000,
  /** From the connection to its first complete request. */
  firstRequestTimeoutMs: 15_000,
  /** How long a connection is kept alive for the next request. */
  keepAliveTimeoutMs: 75_000,
  connectionCheckMs: 1000,
  connections: 5000,
  connectionsPerPlace: 100,
  /** Concurrent form uploads: anyone may send them, and each holds its file in memory. */
  forms: 64,
  formsPerPlace: 8,
  /** Wrong license keys, users and codes: the burst, then the interval in milliseconds. */
  guesses: 30,
  guessEveryMs: 2000,
  /** Requests of one client network that wait for others; each takes milliseconds. */
  guessesWaiting: 256,
  /** How many client networks are tracked; the least recent one is dropped. */
  countedPlaces: 50_000,
} as const;
