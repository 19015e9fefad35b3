import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom, pickNumber } from '../../../../../test/support/random.ts';
import { type Instant, instant } from '../../../src/core/nouns/instant.ts';
import { Retries } from '../../../src/core/replay/retries.ts';
import { Timetable } from '../../../src/core/replay/timetable.ts';

test('what is due comes in its order, and nothing before its time', () => {
  const random = createRandom(1);
  const timetable = new Timetable<number>();
  const waiting: number[] = [];
  for (let now = 0; now < 2000; now++) {
    for (let count = pickNumber(random, { from: 0, to: 2 }); count > 0; count--) {
      const at = now + pickNumber(random, { from: 0, to: 50 });
      timetable.add(instant(at), at);
      waiting.push(at);
    }
    waiting.sort((a, b) => a - b);
    for (let due = timetable.take(instant(now)); due !== null; due = timetable.take(instant(now))) {
      assert.deepEqual([due.at, due.what], [waiting[0], waiting.shift()]);
    }
    assert.ok(waiting.every((at) => at > now));
  }
});

test('who asks again within a time retries, from the first request on', () => {
  const retries = new Retries();
  const ask = (user: string, at: number) => retries.isRetry('cad', user, instant(at), 10);
  assert.deepEqual(
    [0, 1, 9, 10, 11, 19, 20].map((at) => ask('a', at)),
    [false, true, true, false, true, true, false],
  );
  assert.equal(retries.isRetry('cam', 'a', instant(20), 10), false);
  assert.equal(ask('b', 20), false);
  for (let n = 0; n < 11_000; n++) ask(`u${n}`, 25);
  assert.equal(ask('a', 29), true, 'what is not over is not forgotten');
  assert.equal(ask('a', 30 as Instant), false);
});
