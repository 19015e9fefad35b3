import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  CLOCK_TOLERANCE_MS,
  type ClockReading,
  type ClockState,
  clockAtStart,
  isResettable,
  JUMP_PATIENCE_MS,
  jumpAtStart,
  jumpEvent,
  readClock,
} from '../../../src/core/clock/clock.ts';
import { HOUR_MS, MINUTE_MS, plus } from '../../../src/core/nouns/instant.ts';
import { NOW } from '../examples.ts';

const YEAR_MS = 365 * 24 * HOUR_MS;

function at(gapMs: number, elapsedMs = 0, state: Partial<ClockState> = {}): ClockReading {
  const mark = state.mark ?? NOW;
  return readClock({ mark, jump: null, ...state }, elapsedMs, plus(mark, elapsedMs + gapMs));
}

function nextState({ now, jump }: ClockReading): ClockState {
  return { mark: now, jump };
}

describe('while the server runs', () => {
  const cases: [string, { gapMs: number; elapsedMs: number; movesMs: number; jump: string | null }][] = [
    ['it runs with the monotonic clock', { gapMs: 0, elapsedMs: 1234, movesMs: 1234, jump: null }],
    ['it follows a wall clock ahead', { gapMs: 800, elapsedMs: 100, movesMs: 900, jump: null }],
    [
      'by up to five minutes',
      { gapMs: CLOCK_TOLERANCE_MS, elapsedMs: 1, movesMs: CLOCK_TOLERANCE_MS + 1, jump: null },
    ],
    ['beyond them it is a jump', { gapMs: CLOCK_TOLERANCE_MS + 1, elapsedMs: 1, movesMs: 1, jump: 'ahead' }],
    ['a year ahead is not followed', { gapMs: YEAR_MS, elapsedMs: 7, movesMs: 7, jump: 'ahead' }],
    ['it never follows back', { gapMs: -CLOCK_TOLERANCE_MS, elapsedMs: 7, movesMs: 7, jump: null }],
    ['further back is a jump', { gapMs: -CLOCK_TOLERANCE_MS - 1, elapsedMs: 7, movesMs: 7, jump: 'behind' }],
    ['nothing turns it back', { gapMs: 0, elapsedMs: -50, movesMs: 0, jump: null }],
  ];
  for (const [title, { gapMs, elapsedMs, movesMs, jump }] of cases) {
    test(title, () => {
      const reading = at(gapMs, elapsedMs);
      assert.equal(reading.now - NOW, movesMs);
      assert.equal(reading.jump?.direction ?? null, jump);
      assert.equal(reading.isNewJump, jump !== null);
      assert.equal(reading.isTakenOver, false);
    });
  }
});

describe('a jump', () => {
  test('is reported as new only once', () => {
    const second = at(YEAR_MS, MINUTE_MS, nextState(at(YEAR_MS)));
    assert.equal(second.isNewJump, false);
    assert.deepEqual(second.jump, { direction: 'ahead', seenAt: NOW, gapMs: YEAR_MS });
  });

  test('is over when the clocks agree again', () => {
    const back = at(1000, MINUTE_MS, nextState(at(YEAR_MS)));
    assert.equal(back.jump, null);
    assert.equal(back.now, plus(NOW, MINUTE_MS + 1000));
  });

  test('is followed after one day, not a millisecond earlier', () => {
    const state = nextState(at(YEAR_MS));
    const early = at(YEAR_MS, JUMP_PATIENCE_MS - 1, state);
    assert.equal(early.isTakenOver, false);
    assert.equal(early.now, plus(NOW, JUMP_PATIENCE_MS - 1));
    const late = at(YEAR_MS, JUMP_PATIENCE_MS, state);
    assert.equal(late.isTakenOver, true);
    assert.equal(late.now, plus(NOW, JUMP_PATIENCE_MS + YEAR_MS));
    assert.equal(late.ranTo, plus(NOW, JUMP_PATIENCE_MS));
    assert.equal(late.jump, null);
  });

  test('back is never followed', () => {
    const reading = at(-YEAR_MS, 3 * JUMP_PATIENCE_MS, nextState(at(-YEAR_MS)));
    assert.equal(reading.isTakenOver, false);
    assert.equal(reading.now, plus(NOW, 3 * JUMP_PATIENCE_MS));
  });

  test('that moves again is another one, and its day starts again', () => {
    const first = nextState(at(YEAR_MS));
    const moved = at(2 * YEAR_MS, JUMP_PATIENCE_MS - 1, first);
    assert.equal(moved.isNewJump, true);
    assert.equal(moved.jump?.seenAt, plus(NOW, JUMP_PATIENCE_MS - 1));
    assert.equal(at(2 * YEAR_MS, 1, nextState(moved)).isTakenOver, false);
    assert.equal(at(2 * YEAR_MS, JUMP_PATIENCE_MS, nextState(moved)).isTakenOver, true);
  });

  test('to the other side is another one', () => {
    const reading = at(-YEAR_MS, 1, nextState(at(YEAR_MS)));
    assert.deepEqual([reading.isNewJump, reading.jump?.direction], [true, 'behind']);
  });

  test('that only drifts a little is the same', () => {
    const reading = at(YEAR_MS + CLOCK_TOLERANCE_MS, 1, nextState(at(YEAR_MS)));
    assert.equal(reading.isNewJump, false);
  });

  test('is described with both times', () => {
    const wall = plus(NOW, YEAR_MS);
    assert.deepEqual(jumpEvent(at(YEAR_MS), wall), {
      kind: 'clock_jumped',
      direction: 'ahead',
      serverAt: NOW,
      wallAt: wall,
      followed: false,
    });
    assert.equal(jumpEvent(at(0), NOW), null);
  });
});

describe('at start and on reset', () => {
  test('the wall clock counts, but never back', () => {
    assert.equal(clockAtStart(null, NOW), NOW);
    assert.equal(clockAtStart(NOW, plus(NOW, YEAR_MS)), plus(NOW, YEAR_MS));
    assert.equal(clockAtStart(NOW, plus(NOW, -1)), NOW);
  });

  test('a rest of a day or more is recorded, since it may be a wrong clock', () => {
    const day = 24 * HOUR_MS;
    assert.equal(jumpAtStart(null, NOW), null);
    assert.equal(jumpAtStart(NOW, plus(NOW, day - 1)), null);
    assert.deepEqual(jumpAtStart(NOW, plus(NOW, day)), {
      kind: 'clock_jumped',
      direction: 'ahead',
      serverAt: NOW,
      wallAt: plus(NOW, day),
      followed: true,
    });
  });

  test('only a time that is ahead can be reset', () => {
    assert.equal(isResettable(NOW, plus(NOW, YEAR_MS)), false);
    assert.equal(isResettable(NOW, NOW), false);
    assert.equal(isResettable(plus(NOW, CLOCK_TOLERANCE_MS), NOW), false);
    assert.equal(isResettable(plus(NOW, CLOCK_TOLERANCE_MS + 1), NOW), true);
  });
});
