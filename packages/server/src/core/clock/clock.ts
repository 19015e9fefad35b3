import type { ClockJumped } from '../nouns/audit-event.ts';
import { HOUR_MS, type Instant, later, MINUTE_MS, plus, SECOND_MS } from '../nouns/instant.ts';

/**
 * The server has its own time. It counts monotonic time from the latest instant ever used (the mark), and
 * follows the wall clock only in small steps forward. So setting the wall clock neither
 * frees slots nor ends them.
 */
export const CLOCK_TOLERANCE_MS = 5 * MINUTE_MS;

/** A wall clock that stays ahead for this long is taken to be right, and followed. */
export const JUMP_PATIENCE_MS = 24 * HOUR_MS;

/**
 * A server that did not look at its clock for this long was stopped, or its machine slept: no heartbeat could
 * reach it. A running server looks every second.
 */
export const DOWNTIME_MS = 30 * SECOND_MS;

/** The wall clock and the server's time differ. */
export interface ClockJump {
  readonly direction: 'ahead' | 'behind';
  readonly seenAt: Instant;
  /** How far the wall clock was ahead (or, negative, behind) when it was seen. */
  readonly gapMs: number;
}

export interface ClockState {
  readonly mark: Instant;
  readonly jump: ClockJump | null;
}

export interface ClockReading {
  readonly now: Instant;
  /** The server's time before it followed the wall clock. */
  readonly ranTo: Instant;
  readonly jump: ClockJump | null;
  readonly isNewJump: boolean;
  /** The wall clock was ahead for so long that the server follows it; the gap counts as downtime. */
  readonly isTakenOver: boolean;
  /** Since then no heartbeat could reach the server: slots that were live then must not end. */
  readonly awayFrom: Instant | null;
}

/** The server's time, by the wall clock and the monotonic time since the mark: the reading before. */
export function readClock(
  state: ClockState,
  elapsedMs: number,
  wall: Instant,
  restMs: number = DOWNTIME_MS,
): ClockReading {
  const { mark } = state;
  const running = plus(mark, Math.max(0, elapsedMs));
  const downFrom = (now: Instant) => (now - mark > restMs ? mark : null);
  const gapMs = wall - running;
  const same = { ranTo: running, jump: null, isNewJump: false, isTakenOver: false } as const;
  if (Math.abs(gapMs) <= CLOCK_TOLERANCE_MS) {
    const now = later(running, wall);
    return { ...same, now, awayFrom: downFrom(now) };
  }
  const known = sameJump(state.jump, gapMs) ? state.jump : null;
  if (known !== null && known.direction === 'ahead' && running - known.seenAt >= JUMP_PATIENCE_MS) {
    return { ...same, now: wall, isTakenOver: true, awayFrom: downFrom(running) ?? running };
  }
  const direction = gapMs > 0 ? 'ahead' : 'behind';
  const jump = known ?? { direction, seenAt: running, gapMs };
  return { ...same, now: running, jump, isNewJump: known === null, awayFrom: downFrom(running) };
}

/** A wall clock that moves again while it is wrong has made another jump: the patience starts anew. */
function sameJump(jump: ClockJump | null, gapMs: number): jump is ClockJump {
  return jump !== null && Math.abs(jump.gapMs - gapMs) <= CLOCK_TOLERANCE_MS;
}

/** The time when a store is opened: the wall clock's, but never before the mark. */
export function clockAtStart(mark: Instant | null, wall: Instant): Instant {
  return mark === null ? wall : later(mark, wall);
}

/** A gap this long at start is recorded: the server was down for long, or the clock is wrong. */
const NOTABLE_DOWNTIME_MS = 24 * HOUR_MS;

export function jumpAtStart(mark: Instant | null, wall: Instant): ClockJumped | null {
  if (mark === null || wall - mark < NOTABLE_DOWNTIME_MS) return null;
  return { kind: 'clock_jumped', direction: 'ahead', serverAt: mark, wallAt: wall, followed: true };
}

export function jumpEvent({ now, jump }: ClockReading, wall: Instant): ClockJumped | null {
  if (jump === null) return null;
  return { kind: 'clock_jumped', direction: jump.direction, serverAt: now, wallAt: wall, followed: false };
}

/** Returns whether the server's time is so far ahead of the wall clock that it can be reset. */
export function isResettable(now: Instant, wall: Instant): boolean {
  return now - wall > CLOCK_TOLERANCE_MS;
}
