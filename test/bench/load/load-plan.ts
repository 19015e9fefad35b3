/** What the load generator is told to do, as plain data: it crosses to another process. */
export interface LoadPlan {
  /** Connections are dealt out to them by turns. */
  readonly servers: readonly Address[];
  readonly connections: number;
  /** What a connection sends one after the other, always the same user in one round. */
  readonly requests: readonly RequestPlan[];
  /** Each connection starts its first round with another request, so that they do not send alike. */
  readonly isStaggered: boolean;
  readonly users: UserPlan;
  /** Sent before the clock starts, so that compilers and caches have settled. */
  readonly warmupSeconds: number;
  readonly seconds: number;
  /** Requests a second, whether or not earlier ones were answered. `null`: each answer brings the next. */
  readonly rate: number | null;
  /** Ends after this many rounds instead of after a time. */
  readonly rounds: number | null;
  /** How many rounds earlier runs had, so that each round's user is a new one where that is wanted. */
  readonly earlierRounds: number;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** `USER_MARK` stands wherever the user's number belongs, `NONCE_MARK` where a nonce does. */
export interface RequestPlan {
  readonly method: string;
  readonly path: string;
  /** JSON, or nothing. */
  readonly body: string;
  /** Every other status is an error. */
  readonly statuses: readonly number[];
}

/** Users are numbers: `from`, `from + step`, and so on, `count` of them. */
export interface UserPlan {
  readonly from: number;
  readonly step: number;
  readonly count: number;
  /**
   * `own`: a connection is always the same user. `random`: any of the connection's share of users, so that no
   * two connections are the same user at the same time. `next`: each round is a user who was not there yet.
   */
  readonly pick: 'own' | 'random' | 'next';
}

/** Numbers have a fixed width, so that they can be written into bytes that are built once. */
const USER_DIGITS = 7;
export const USER_MARK = '#'.repeat(USER_DIGITS);

export function userDigits(user: number): string {
  return String(user).padStart(USER_DIGITS, '0');
}

/** Each request has another one, as long as the client makes them. */
const NONCE_DIGITS = 32;
export const NONCE_MARK = '~'.repeat(NONCE_DIGITS);

export function nonceDigits(count: number): string {
  return String(count).padStart(NONCE_DIGITS, '0');
}

export function userAt({ from, step }: UserPlan, index: number): number {
  return from + step * index;
}

/** What a run of the load generator found. */
export interface LoadResult {
  /** Rounds that were started. */
  readonly rounds: number;
  /** All requests that were answered, those of the warm-up too. */
  readonly answered: number;
  /** How long the clock ran, and how many answers came meanwhile. */
  readonly seconds: number;
  readonly counted: number;
  /**
   * Of all requests that the clock has seen, also those whose answers came later: an answer that takes long
   * must not go missing. A paced request counts from when it was due, not from when a connection was free.
   */
  readonly latencies: readonly BucketCount[];
  /** The longest of them in milliseconds. */
  readonly max: number;
  /** At any time: answers with another status, broken connections and requests that were never answered. */
  readonly errors: number;
  readonly firstError: string | null;
  /** For how much of the time the generator did not wait for answers; near 1, it was the bottleneck. */
  readonly busyShare: number;
}

/** A bucket of the histogram of latencies, and how many are in it. */
export type BucketCount = [bucket: number, count: number];

/** How many requests were answered within this time, and not within the step before it. */
export interface HistogramStep {
  readonly withinMs: number;
  readonly count: number;
}
