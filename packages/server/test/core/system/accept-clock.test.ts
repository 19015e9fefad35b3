import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClockJump } from '../../../src/core/clock/clock.ts';
import { HOUR_MS, plus } from '../../../src/core/nouns/instant.ts';
import { acceptClock } from '../../../src/core/system/clock.ts';
import { expectRefused, NOW } from '../examples.ts';

const command = { kind: 'accept_clock', by: 'ada' } as const;
const to = plus(NOW, HOUR_MS);
const ahead: ClockJump = { direction: 'ahead', seenAt: NOW, gapMs: HOUR_MS };

test('a wall clock that is ahead is followed, and live slots get a whole timeout', () => {
  assert.deepEqual(acceptClock.decide(command, { clock: { jump: ahead, wall: to } }, NOW), {
    outcome: { kind: 'done', count: 1 },
    changes: [
      { kind: 'move_clock', to },
      { kind: 'extend_live', since: NOW },
    ],
    events: [{ kind: 'clock_accepted', from: NOW, to, by: 'ada' }],
  });
});

test('a wall clock that is not ahead is refused', () => {
  const behind: ClockJump = { ...ahead, direction: 'behind' };
  const clocks = [
    { jump: null, wall: to },
    { jump: behind, wall: to },
    { jump: ahead, wall: NOW },
  ];
  for (const clock of clocks) {
    const { outcome, changes, events } = acceptClock.decide(command, { clock }, NOW);
    assert.equal(expectRefused(outcome).code, 'clock_not_ahead');
    assert.deepEqual([...changes, ...events], []);
  }
});
