import type { Answer } from '../servers.ts';

/** What an answer to register says about the slot. */
export interface Lease {
  readonly sentAtMs: number;
  /** How long the server keeps the slot at least, counted from `sentAtMs`. */
  readonly lastsMs: number;
  /** When to renew it, counted from `sentAtMs`. */
  readonly renewAfterMs: number;
  /** `null` if it is not borrowed. */
  readonly borrowedUntil: Date | null;
}

/** How much earlier the client stops than the server could lend the slot again. */
export interface Margin {
  readonly fixedMs: number;
  /** The part of the time by which the client's clock may be too slow. */
  readonly share: number;
}

/**
 * The clocks of client and server may differ in speed by 1 %, a hundred times what ordinary clocks do. The
 * two seconds are for what the clock needs to notice that the machine slept, and for work that has just
 * begun.
 */
export const MARGIN: Margin = { fixedMs: 2000, share: 0.01 };

/** The share is of at most a day: longer times are those of borrows. */
const LONGEST_SHARED_MS = 86_400_000;
/** If the server does not say it: two more renewals can fail before the slot ends. */
export const RENEW_SHARE = 1 / 3;
/**
 * How much earlier than planned a renewal may be, so that clients that start together do not stay together.
 */
const JITTER = 0.2;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
const SECOND_MS = 1000;

/** The end counts from when the request was sent: the server cannot have decided before. */
export function safeUntilMs({ sentAtMs, lastsMs }: Lease, { fixedMs, share }: Margin): number {
  return sentAtMs + lastsMs - fixedMs - Math.min(lastsMs, LONGEST_SHARED_MS) * share;
}

/** As the server says, or earlier if the application wants that. */
export function renewAtMs(
  { sentAtMs, renewAfterMs }: Lease,
  renewEveryMs: number,
  random: () => number,
): number {
  return sentAtMs + Math.min(renewAfterMs, renewEveryMs) * (1 - random() * JITTER);
}

export function readLease({ fields, sentAtMs }: Answer): Lease {
  const timeoutMs = readMs(fields.floating_timeout, MINUTE_MS) ?? Number.POSITIVE_INFINITY;
  const lastsMs = readMs(fields.slot_ends_in_seconds, SECOND_MS) ?? timeoutMs;
  const plannedMs = readMs(fields.renew_in_seconds, SECOND_MS) ?? Math.min(timeoutMs, lastsMs) * RENEW_SHARE;
  const renewAfterMs = Math.max(plannedMs, SECOND_MS);
  return { sentAtMs, lastsMs, renewAfterMs, borrowedUntil: readBorrow(fields) };
}

function readMs(value: unknown, unitMs: number): number | null {
  return typeof value === 'number' && value >= 0 ? value * unitMs : null;
}

function readBorrow(fields: Answer['fields']): Date | null {
  if (fields.is_borrowed !== true) return null;
  const until = new Date(String(fields.borrowed_until));
  return Number.isNaN(until.getTime()) ? null : until;
}
