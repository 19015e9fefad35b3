/** Every bound on callers, who may be strangers. `docs/cloud.md` has them for people. */
export const LIMITS = {
  /** Whatever is slow holds a connection; honest callers need milliseconds. */
  handshakeTimeoutMs: 10_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  /** A connection on which nothing moves: no request comes, or nothing of an answer is taken. */
  silenceTimeoutMs: 15_000,
  /** From the connection to its first request: what is sent before need not be one. */
  firstRequestTimeoutMs: 15_000,
  /** An idle connection is kept this long for the next report of a server. */
  keepAliveTimeoutMs: 75_000,
  connectionCheckMs: 1000,
  connections: 5000,
  connectionsPerPlace: 100,
  /** Forms under way: strangers may send them, and each holds its file in memory. */
  forms: 64,
  formsPerPlace: 8,
  /** Wrong license keys, users and codes: so many at once, and then one in so many milliseconds. */
  guesses: 30,
  guessEveryMs: 2000,
  /** Of one place, while as much is under way as could be wrong; an answer takes milliseconds. */
  guessesWaiting: 256,
  /** How many places are remembered for it; the one that was silent longest is forgotten. */
  countedPlaces: 50_000,
} as const;
