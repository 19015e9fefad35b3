import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DeniedError, UnreachableError } from '../../../packages/client/src/errors.ts';
import { type Register, Renewal } from '../../../packages/client/src/lending/renewal.ts';
import { SteadyClock } from '../../../packages/client/src/steady-clock.ts';
import { createRandom } from '../../support/random.ts';
import { Machine } from './machine.ts';
import { World } from './world.ts';

function keepSlot(register: Register) {
  const world = new World();
  const machine = new Machine(world, { name: 'ws-7', random: createRandom(1), network: () => {} });
  const { environment } = machine;
  const renewEveryMs = Number.POSITIVE_INFINITY;
  const clock = new SteadyClock(environment);
  const lease = { sentAtMs: clock.readMs(), lastsMs: 600_000, renewAfterMs: 200_000, borrowedUntil: null };
  return { world, machine, renewal: new Renewal({ environment, clock, renewEveryMs, register }, lease) };
}

describe('the renewal of a slot', () => {
  test('tells of a loss with the failure that comes after the end, before any timer runs', async () => {
    const { promise: answer, reject } = Promise.withResolvers<never>();
    const { world, machine, renewal } = keepSlot(() => answer);
    const events: string[] = [];
    for (const name of ['unreachable', 'lost'] as const) renewal.events.on(name, () => events.push(name));
    await world.run(200_000);
    machine.sleep();
    await world.run(900_000);
    machine.wake(() => reject(new UnreachableError([], null)));
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(events, ['lost', 'unreachable']);
  });

  test('asks for a slot that was taken when the server says', async () => {
    const askedAt: number[] = [];
    const { world } = keepSlot(async () => {
      askedAt.push(world.nowMs / 1000);
      throw new DeniedError(400, { code: 'floating_not_available' }, { retryAfter: '30' });
    });
    await world.run(600_000);
    const pauses = askedAt.slice(1).map((at, n) => at - (askedAt[n] as number));
    assert.ok(pauses.length > 5 && pauses.every((pause) => pause >= 15 && pause <= 45), pauses.join(' '));
  });

  test('says how it is after a loss, and after the release', () => {
    const { renewal } = keepSlot(() => new Promise(() => {}));
    renewal.lose('ended', null);
    const lost = { code: 'slot_lost', isRetryable: true, advice: /asks for the slot again/ };
    assert.throws(() => renewal.assertHeld(), lost);
    renewal.stop();
    const released = { name: 'SlotLostError', code: 'slot_released', isRetryable: false, advice: /acquire/ };
    assert.throws(() => renewal.assertHeld(), released);
  });

  test('doubts the server after a loss, whatever the reason', () => {
    const doubts: boolean[] = [];
    const { renewal } = keepSlot((inDoubt) => {
      doubts.push(inDoubt);
      return new Promise(() => {});
    });
    renewal.lose('license', null);
    renewal.renewNow();
    assert.deepEqual(doubts, [true]);
  });

  test('stops waiting for an answer when it ends, and is not revived by a late one', async () => {
    let signal: AbortSignal | null = null;
    const { world, renewal } = keepSlot((_, given) => {
      signal = given;
      return new Promise(() => {});
    });
    await world.run(200_000);
    const ended = renewal.end(async (withinMs) => withinMs === 1000 && signal?.aborted === true);
    await world.run(201_000);
    assert.equal(await ended, true);
    renewal.accept(renewal.lease);
    assert.deepEqual([renewal.isStopped, renewal.heldForMs], [true, 0]);
  });

  test('refuses listeners for events that do not exist', () => {
    const { renewal } = keepSlot(() => new Promise(() => {}));
    assert.throws(() => renewal.events.on('los' as 'lost', () => {}), {
      code: 'invalid_option',
      message: 'There is no event "los".',
      advice: 'The events are unreachable, reachable, denied, lost, restored.',
    });
  });
});
