import { MAX_LICENSE_BYTES } from '@berth/protocol/carried/license-size';

/** Limits on connections and bodies, which may come from strangers. */
export const HTTP_LIMITS = {
  /** A v4 request body has a few hundred bytes. */
  bodyBytes: 64 * 1024,
  /**
   * For bodies with a file. Of a license: base64 makes the largest file a third larger than its license, and
   * a client that escapes every "/" in JSON adds a quarter of that. Rules have less.
   */
  fileBodyBytes: 2 * MAX_LICENSE_BYTES,
  /**
   * How much of an oversized body is read, so that the client gets an error and not a broken connection.
   */
  discardBytes: 4 * 1024 * 1024,
  /**
   * What is kept of unfinished requests beyond their first part: enough for hundreds of the largest from one
   * address, and little beside what 10,000 connections take anyway. Applications send no more than that part.
   */
  ordinaryBytes: 4 * 1024,
  unfinishedBytesPerAddress: 16 * 1024 * 1024,
  unfinishedBytes: 64 * 1024 * 1024,
  /**
   * Slow clients hold connections; honest ones need milliseconds. The next check finds slow connections and
   * sends an error before it closes them: none lives longer than 15 s.
   */
  handshakeTimeoutMs: 10_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 11_000,
  /** From the connection to its first request, including the handshake. */
  firstRequestTimeoutMs: 11_000,
  /** How long a client may read nothing of its response. */
  readTimeoutMs: 10_000,
  farewellMs: 1000,
  /** The listen backlog. If it is too small, bursts of clients are refused. */
  waitingConnections: 4096,
  /** How often to look for slow connections. */
  connectionCheckMs: 1000,
  /** How long an idle connection is kept for the client's next heartbeat. */
  keepAliveTimeoutMs: 75_000,
  /**
   * When the client of a long request is first asked for a sign of life. The system asks ten times, once a
   * second: a machine that has vanished is noticed within 15 s.
   */
  probeAfterMs: 4000,
  /** What is read behind a long request, to notice that its client is gone. */
  aheadBytes: 16 * 1024,
  /** How long a stop waits before it closes connections. */
  drainTimeoutMs: 10_000,
} as const;
