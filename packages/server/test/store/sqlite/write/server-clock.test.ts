import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOUR_MS, MINUTE_MS, plus } from '../../../../src/core/nouns/instant.ts';
import { createManualClock } from '../../../../src/store/clock.ts';
import { ServerClock } from '../../../../src/store/sqlite/write/server-clock.ts';
import { NOW } from '../../../core/examples.ts';

test('fractions of a millisecond add up, however often the clock is read', () => {
  let monotonicMs = 0.3;
  const server = new ServerClock(
    { ...createManualClock(NOW), readMonotonicMs: () => monotonicMs },
    null,
    null,
  );
  for (let reading = 0; reading < 1000; reading++) {
    monotonicMs += 0.5;
    server.read();
  }
  assert.equal(server.mark, plus(NOW, 500));
});

test('peeking moves nothing', () => {
  const clock = createManualClock(NOW);
  const server = new ServerClock(clock, null, null);
  clock.advance(MINUTE_MS);
  clock.setWall(plus(NOW, HOUR_MS));
  assert.equal(server.peek().now, plus(NOW, MINUTE_MS));
  assert.equal(server.peek().isNewJump, true);
  assert.deepEqual([server.mark, server.jump], [NOW, null]);
});

test('a jump that could not be recorded is found again', () => {
  const clock = createManualClock(NOW);
  const server = new ServerClock(clock, null, null);
  clock.setWall(plus(NOW, -HOUR_MS));
  assert.equal(server.read().isNewJump, true);
  assert.equal(server.read().isNewJump, false);
  server.forgetJump();
  assert.equal(server.read().isNewJump, true);
});

test('it continues from where it was moved', () => {
  const clock = createManualClock(NOW);
  const server = new ServerClock(clock, plus(NOW, HOUR_MS), null);
  assert.equal(server.mark, plus(NOW, HOUR_MS));
  clock.advance(5);
  server.moveTo(NOW);
  clock.advance(7);
  assert.equal(server.read().ranTo, plus(NOW, 7));
});
