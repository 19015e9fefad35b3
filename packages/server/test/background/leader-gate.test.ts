import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { createLeaderGate } from '../../src/background/leader-gate.ts';
import { createLoop } from '../../src/background/loop.ts';
import { createQuietLog } from '../../src/telemetry/log.ts';

const HOUR_MS = 60 * 60 * 1000;
const SECOND_MS = 1000;

/** A gate for a loop with hourly rounds. The test ends the rounds and moves the timers. */
function openGate(t: TestContext, state: { leads: boolean }) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const rounds: PromiseWithResolvers<void>[] = [];
  const told: string[] = [];
  const loop = createLoop({
    intervalMs: HOUR_MS,
    work() {
      told.push('round');
      const round = Promise.withResolvers<void>();
      rounds.push(round);
      return round.promise;
    },
    onError: assert.fail,
  });
  const isLeader = () => state.leads;
  const takeOver = () => told.push('taken over');
  const gate = createLeaderGate({ isLeader, takeOver, loops: [loop] }, createQuietLog());
  const pass = async (ms: number) => {
    t.mock.timers.tick(ms);
    await new Promise(setImmediate);
    t.mock.timers.tick(0);
    await new Promise(setImmediate);
  };
  return { gate, loop, rounds, told, pass };
}

describe('work of the leader', () => {
  test('is done as usual by a server that leads from the start', async (t) => {
    const { gate, rounds, told, pass } = openGate(t, { leads: true });
    gate.start();
    await pass(HOUR_MS - 1);
    assert.deepEqual(told, []);
    await pass(1);
    assert.deepEqual(told, ['round']);
    rounds[0]?.resolve();
    await gate.stop();
  });

  test('is not done by others', async (t) => {
    const { gate, loop, told, pass } = openGate(t, { leads: false });
    gate.start();
    loop.wake();
    for (let second = 0; second < 10; second++) await pass(SECOND_MS);
    await pass(HOUR_MS);
    assert.deepEqual(told, []);
    await gate.stop();
  });

  test('is taken over within a second by a new leader, and once', async (t) => {
    const state = { leads: false };
    const { gate, rounds, told, pass } = openGate(t, state);
    gate.start();
    await pass(SECOND_MS);
    state.leads = true;
    await pass(SECOND_MS);
    assert.deepEqual(told, ['taken over', 'round']);
    rounds[0]?.resolve();
    for (let second = 0; second < 10; second++) await pass(SECOND_MS);
    assert.deepEqual(told, ['taken over', 'round']);
    await gate.stop();
  });

  test('ends with the leadership; work in progress is finished, and resumed later', async (t) => {
    const state = { leads: true };
    const { gate, rounds, told, pass } = openGate(t, state);
    gate.start();
    await pass(HOUR_MS);
    state.leads = false;
    await pass(SECOND_MS);
    rounds[0]?.resolve();
    await pass(HOUR_MS);
    assert.deepEqual(told, ['round']);
    state.leads = true;
    await pass(SECOND_MS);
    assert.deepEqual(told, ['round', 'taken over', 'round']);
    rounds[1]?.resolve();
    await gate.stop();
  });

  test('stopping waits for it, even if the leadership was lost meanwhile', async (t) => {
    const state = { leads: true };
    const { gate, rounds, pass } = openGate(t, state);
    gate.start();
    await pass(HOUR_MS);
    state.leads = false;
    await pass(SECOND_MS);
    let isStopped = false;
    const stopping = gate.stop().then(() => {
      isStopped = true;
    });
    await new Promise(setImmediate);
    assert.equal(isStopped, false);
    rounds[0]?.resolve();
    await stopping;
    state.leads = true;
    await pass(HOUR_MS);
    assert.equal(rounds.length, 1, 'a stopped gate stays shut');
  });

  test('may be stopped before it is started, and started again', async (t) => {
    const { gate, rounds, pass } = openGate(t, { leads: true });
    await gate.stop();
    gate.start();
    gate.start();
    await pass(HOUR_MS);
    assert.equal(rounds.length, 1);
    rounds[0]?.resolve();
    await gate.stop();
  });
});
