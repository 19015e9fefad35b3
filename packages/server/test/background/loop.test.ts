import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { createLoop } from '../../src/background/loop.ts';

const INTERVAL_MS = 1000;

/** A loop; the test ends its rounds and moves its timers. */
function openLoop(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const rounds: PromiseWithResolvers<void>[] = [];
  const errors: unknown[] = [];
  const loop = createLoop({
    intervalMs: INTERVAL_MS,
    work() {
      const round = Promise.withResolvers<void>();
      rounds.push(round);
      return round.promise;
    },
    onError: (error) => errors.push(error),
  });
  return { loop, rounds, errors, tick: () => t.mock.timers.tick(INTERVAL_MS) };
}

/** Lets pending promises settle. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe('a loop', () => {
  test('works every interval, counted from the end of a round', async (t) => {
    const { loop, rounds, tick } = openLoop(t);
    loop.start();
    assert.equal(rounds.length, 0);
    tick();
    tick();
    tick();
    assert.equal(rounds.length, 1, 'rounds never overlap');
    rounds[0]?.resolve();
    await settle();
    assert.equal(rounds.length, 1);
    tick();
    assert.equal(rounds.length, 2);
  });

  test('follows a test clock, and is waited for', async (t) => {
    const { loop, rounds, tick } = openLoop(t);
    await loop.pass(INTERVAL_MS);
    assert.equal(rounds.length, 0, 'it is not on');
    loop.start();
    await loop.pass(INTERVAL_MS - 1);
    assert.equal(rounds.length, 0);
    let isPast = false;
    const passing = loop.pass(1).then(() => {
      isPast = true;
    });
    tick();
    assert.equal(rounds.length, 1, 'the timer of this round is gone');
    await settle();
    assert.equal(isPast, false);
    rounds[0]?.resolve();
    await passing;
    await loop.pass(INTERVAL_MS - 1);
    assert.equal(rounds.length, 1, 'the next one has its own time');
  });

  test('started twice is one loop', async (t) => {
    const { loop, rounds, tick } = openLoop(t);
    loop.start();
    loop.start();
    tick();
    assert.equal(rounds.length, 1);
    loop.start();
    rounds[0]?.resolve();
    await settle();
    tick();
    assert.equal(rounds.length, 2);
  });

  test('may be stopped before it is started, and more than once', async (t) => {
    const { loop, rounds, tick } = openLoop(t);
    await loop.stop();
    await loop.stop();
    loop.start();
    tick();
    assert.equal(rounds.length, 1);
    rounds[0]?.resolve();
    await loop.stop();
    await loop.stop();
    tick();
    assert.equal(rounds.length, 1);
  });

  test('stopped between two rounds has no next one', async (t) => {
    const { loop, rounds, tick } = openLoop(t);
    loop.start();
    await loop.stop();
    tick();
    assert.equal(rounds.length, 0);
  });

  test('stop waits for the work', async (t) => {
    const { loop, rounds, tick } = openLoop(t);
    loop.start();
    tick();
    let isStopped = false;
    const stopping = loop.stop().then(() => {
      isStopped = true;
    });
    await settle();
    assert.equal(isStopped, false);
    rounds[0]?.resolve();
    await stopping;
    tick();
    assert.equal(rounds.length, 1);
  });

  test('started again during its last round, it is still one loop', async (t) => {
    const { loop, rounds, tick } = openLoop(t);
    loop.start();
    tick();
    const stopping = loop.stop();
    loop.start();
    rounds[0]?.resolve();
    await stopping;
    await settle();
    tick();
    assert.equal(rounds.length, 2);
    rounds[1]?.resolve();
    await loop.stop();
    tick();
    assert.equal(rounds.length, 2, 'a second schedule would go on');
  });

  test('continues after an error', async (t) => {
    const { loop, rounds, errors, tick } = openLoop(t);
    const error = new Error('disk');
    loop.start();
    tick();
    rounds[0]?.reject(error);
    await settle();
    assert.deepEqual(errors, [error]);
    tick();
    assert.equal(rounds.length, 2);
  });

  test('continues after work that throws before it begins', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const errors: unknown[] = [];
    const work = () => {
      throw new Error('at once');
    };
    const loop = createLoop({ intervalMs: INTERVAL_MS, work, onError: (error) => errors.push(error) });
    loop.start();
    for (const count of [1, 2]) {
      t.mock.timers.tick(INTERVAL_MS);
      await settle();
      assert.equal(errors.length, count);
    }
    await loop.stop();
  });

  test('woken, it does its next round at once, and then continues as before', async (t) => {
    const { loop, rounds, tick } = openLoop(t);
    loop.wake();
    tick();
    assert.equal(rounds.length, 0, 'a stopped loop sleeps on');
    loop.start();
    loop.wake();
    t.mock.timers.tick(0);
    assert.equal(rounds.length, 1);
    rounds[0]?.resolve();
    await settle();
    t.mock.timers.tick(0);
    assert.equal(rounds.length, 1);
    tick();
    assert.equal(rounds.length, 2);
    rounds[1]?.resolve();
    await loop.stop();
  });

  test('woken while it is at work, it does another round right after', async (t) => {
    const { loop, rounds, tick } = openLoop(t);
    loop.start();
    tick();
    loop.wake();
    rounds[0]?.resolve();
    await settle();
    t.mock.timers.tick(0);
    assert.equal(rounds.length, 2);
    rounds[1]?.resolve();
    await loop.stop();
  });

  test('asks for the interval each time', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const intervals = [10, 1000];
    let rounds = 0;
    const loop = createLoop({
      intervalMs: () => intervals.shift() ?? 0,
      work: async () => {
        rounds += 1;
      },
      onError: assert.fail,
    });
    loop.start();
    t.mock.timers.tick(10);
    await settle();
    t.mock.timers.tick(999);
    assert.equal(rounds, 1);
    t.mock.timers.tick(1);
    assert.equal(rounds, 2);
    await loop.stop();
  });
});
