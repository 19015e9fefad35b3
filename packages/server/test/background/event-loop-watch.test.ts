import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as passTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { createEventLoopWatch } from '../../src/background/event-loop-watch.ts';

test('the delay of the event loop is how late a timer fires', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const delays: number[] = [];
  let nowMs = 5000;
  const noteLoopDelay = (millis: number) => void delays.push(millis);
  const watch = createEventLoopWatch({ noteLoopDelay }, () => nowMs, pino({ level: 'silent' }));
  watch.start();
  for (const lateMs of [0, 40, 3]) {
    nowMs += 100 + lateMs;
    t.mock.timers.tick(100);
    await passTurn();
  }
  await watch.stop();
  assert.deepEqual(delays, [0, 40, 3]);
});
