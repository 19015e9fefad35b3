import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stopAll } from '../../src/background/stop-all.ts';

/** The stopped parts in order. Each is recorded when it is done. */
function setUp() {
  const stopped: string[] = [];
  const stop = (name: string) => async () => {
    await new Promise(setImmediate);
    stopped.push(name);
  };
  const fail = (name: string) => async () => {
    stopped.push(name);
    throw new Error(name);
  };
  return { stopped, stop, fail };
}

test('what comes afterwards waits for everything that runs', async () => {
  const { stopped, stop } = setUp();
  await stopAll([stop('one'), stop('two')], [stop('record'), stop('close')]);
  assert.deepEqual(stopped, ['one', 'two', 'record', 'close']);
});

test('if one fails, all others are stopped, and the first failure is thrown', async () => {
  const { stopped, stop, fail } = setUp();
  const stopping = stopAll([fail('broken'), stop('slow')], [fail('record'), stop('close')]);
  await assert.rejects(stopping, { message: 'broken' });
  assert.deepEqual(stopped, ['broken', 'slow', 'record', 'close']);
});
