import type { ClockJumped } from '../nouns/audit-event.ts';
import { HOUR_MS, type Instant, later, MINUTE_MS, plus } from '../nouns/instant.ts';

/**
 * The server's own time. From the latest instant that was ever used (the mark) it counts monotonic time,
 * and takes over from the wall clock only small steps forward. A wall clock that is set cannot give or take
 * anybody a slot.
 */
export const CLOCK_TOLERANCE_MS = 5 * MINUTE_MS;

/** A wall clock that stays ahead for this long is right after all, and is followed. */
export const JUMP_PATIENCE_MS = 24 * HOUR_MS;

/** The wall clock and the server's time have fallen apart. */
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
  /** Where the server's time had got to by itself, before any wall clock was followed. */
  readonly ranTo: Instant;
  readonly jump: ClockJump | null;
  /** The jump was not there at the last reading. */
  readonly isNewJump: boolean;
  /** The wall clock was ahead for so long that the server follows it: this counts as downtime. */
  readonly isTakenOver: boolean;
}

/**
 * The server's time, given how much monotonic time has passed since the mark and what the wall clock shows.
 */
export function readClock(state: ClockState, elapsedMs: number, wall: Instant): ClockReading {
  const running = plus(state.mark, Math.max(0, elapsedMs));
  const gapMs = wall - running;
  if (Math.abs(gapMs) <= CLOCK_TOLERANCE_MS) {
    return { now: later(running, wall), ranTo: running, jump: null, isNewJump: false, isTakenOver: false };
  }
  const known = sameJump(state.jump, gapMs) ? state.jump : null;
  if (known !== null && known.direction === 'ahead' && running - known.seenAt >= JUMP_PATIENCE_MS) {
    return { now: wall, ranTo: running, jump: null, isNewJump: false, isTakenOver: true };
  }
  const direction = gapMs > 0 ? 'ahead' : 'behind';
  const jump = known ?? { direction, seenAt: running, gapMs };
  return { now: running, ranTo: running, jump, isNewJump: known === null, isTakenOver: false };
}

/** A wall clock that moves again while it is wrong is another jump, and its patience starts anew. */
function sameJump(jump: ClockJump | null, gapMs: number): jump is ClockJump {
  return jump !== null && Math.abs(jump.gapMs - gapMs) <= CLOCK_TOLERANCE_MS;
}

/** The time at which a store that was closed goes on. The wall clock rules, but never back. */
export function clockAtStart(mark: Instant | null, wall: Instant): Instant {
  return mark === null ? wall : later(mark, wall);
}

/**
 * A gap this long between mark and wall clock at start may be a long rest or a wrong clock: it is recorded.
 */
const NOTABLE_REST_MS = 24 * HOUR_MS;

export function jumpAtStart(mark: Instant | null, wall: Instant): ClockJumped | null {
  if (mark === null || wall - mark < NOTABLE_REST_MS) return null;
  return { kind: 'clock_jumped', direction: 'ahead', serverAt: mark, wallAt: wall, followed: true };
}

export function jumpEvent({ now, jump }: ClockReading, wall: Instant): ClockJumped | null {
  if (jump === null) return null;
  return { kind: 'clock_jumped', direction: jump.direction, serverAt: now, wallAt: wall, followed: false };
}

/** Whether the server's time has run so far ahead of the wall clock that it can be reset to it. */
export function isResettable(now: Instant, wall: Instant): boolean {
  return now - wall > CLOCK_TOLERANCE_MS;
}
