import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as settle } from 'node:timers/promises';
import { networksOf } from '@berth/protocol/address-range';
import { RequestError } from '@berth/protocol/request-error';
import { createFairQueue } from '../../../src/services/lending/fair-queue.ts';

/** A queue whose work ends when the test says so. */
function openQueue({ atOnce = 1, mostWaiting = 1000 } = {}) {
  const queue = createFairQueue({ atOnce, mostWaiting, refusal: 'Come again.' });
  const begun: string[] = [];
  const refused: string[] = [];
  const open: (() => void)[] = [];

  function ask(address: string, title = address): void {
    const work = () => {
      begun.push(title);
      return new Promise<void>((resolve) => open.push(resolve));
    };
    queue.run(networksOf(address), work).catch((error) => {
      assert.ok(error instanceof RequestError && error.code === 'too_many_requests');
      refused.push(title);
    });
  }

  /** Ends the oldest work, and waits until the next has begun. */
  async function finishOne(): Promise<void> {
    open.shift()?.();
    await settle();
  }

  /** How much is done until this one has its turn. */
  async function countUntil(title: string, most = 10_000): Promise<number> {
    for (let count = 0; count <= most; count++) {
      if (begun.includes(title)) return count;
      await finishOne();
    }
    return Number.POSITIVE_INFINITY;
  }

  return { ask, finishOne, countUntil, begun, refused, dismiss: queue.dismiss };
}

const times = (count: number, work: (n: number) => void) => {
  for (let n = 0; n < count; n++) work(n);
};

describe('a fair queue', () => {
  test('runs a fixed number at once, and the next when one has ended', async () => {
    const { ask, finishOne, begun } = openQueue({ atOnce: 2 });
    times(4, (n) => ask('10.0.0.1', String(n)));
    await settle();
    assert.deepEqual(begun, ['0', '1']);
    await finishOne();
    assert.deepEqual(begun, ['0', '1', '2']);
  });

  test('continues after work that fails', async () => {
    const queue = createFairQueue({ atOnce: 1, mostWaiting: 1, refusal: '' });
    const fail = queue.run(['x'], () => Promise.reject(new Error('no')));
    await assert.rejects(fail, /no/);
    assert.equal(await queue.run(['x'], async () => 7), 7);
  });

  test('does no work for callers who left while they waited', async () => {
    const queue = createFairQueue({ atOnce: 1, mostWaiting: 9, refusal: '' });
    const { promise: first, resolve: end } = Promise.withResolvers<void>();
    const running = queue.run(['x'], () => first);
    const begun: string[] = [];
    const client = new AbortController();
    const note = (name: string, signal?: AbortSignal) =>
      queue.run(['net', name], async () => void begun.push(name), signal);
    const gone = assert.rejects(note('gone', client.signal), /disconnected/);
    const stays = note('stays');
    client.abort();
    await gone;
    await assert.rejects(note('late', client.signal), /disconnected/);
    end();
    await Promise.all([running, stays]);
    assert.deepEqual(begun, ['stays']);
    assert.equal(await queue.run(['x'], async () => 7), 7, 'the turn came back');
  });

  test('rejects all waiting callers on request, and continues', async () => {
    const { ask, finishOne, begun, refused, dismiss } = openQueue();
    times(3, (n) => ask(`10.0.${n}.1`, String(n)));
    await settle();
    dismiss();
    await settle();
    assert.deepEqual([begun, refused], [['0'], ['1', '2']]);
    await finishOne();
    ask('10.0.0.1', 'next');
    await settle();
    assert.deepEqual(begun, ['0', 'next']);
  });

  test('gives a newcomer a turn after one round, however much the others ask for', async () => {
    const { ask, countUntil } = openQueue();
    times(5, (place) => times(20, () => ask(`10.0.${place}.1`)));
    await settle();
    ask('10.0.9.9', 'newcomer');
    assert.ok((await countUntil('newcomer')) <= 6);
  });

  test('does so for a newcomer while the others return as soon as they are served', async () => {
    const { ask, finishOne, begun } = openQueue();
    times(5, (place) => times(8, () => ask(`127.0.0.${place + 1}`)));
    await settle();
    ask('127.0.0.6', 'newcomer');
    for (let count = 0; count < 6; count++) {
      await finishOne();
      ask(begun.at(-1) as string);
    }
    assert.ok(begun.includes('newcomer'), begun.join(' '));
  });

  test('counts a whole network as one, against somebody elsewhere', async () => {
    const { ask, countUntil } = openQueue();
    times(200, (n) => ask(`10.7.${n}.1`));
    await settle();
    ask('192.168.1.5', 'newcomer');
    assert.ok((await countUntil('newcomer')) <= 2);
  });

  test('counts a part of a network as one, against somebody in another part', async () => {
    const { ask, countUntil } = openQueue();
    times(200, (n) => ask(`10.7.1.${n}`));
    await settle();
    ask('10.7.2.5', 'newcomer');
    assert.ok((await countUntil('newcomer')) <= 2);
  });

  test('that is full drops the newest of the place with the most waiting', async () => {
    const { ask, countUntil, refused } = openQueue({ mostWaiting: 10 });
    ask('10.0.0.1', 'served');
    times(6, (n) => ask('10.0.0.1', `greedy ${n}`));
    times(4, (n) => ask('10.0.0.2', `modest ${n}`));
    await settle();
    assert.deepEqual(refused, []);
    ask('10.0.0.3', 'newcomer');
    await settle();
    assert.deepEqual(refused, ['greedy 5']);
    ask('10.0.0.1', 'more');
    await settle();
    assert.deepEqual(refused, ['greedy 5', 'more'], 'whoever fills the queue fills it for themselves');
    assert.ok((await countUntil('newcomer')) <= 3);
  });

  test('that is full of single guesses keeps the one that has not asked for a while', async () => {
    const { ask, finishOne, countUntil, refused } = openQueue({ mostWaiting: 20 });
    const attackers = Array.from({ length: 40 }, (_, n) => `10.0.0.${n + 1}`);
    for (const address of attackers) {
      ask(address);
      await finishOne();
    }
    times(21, (n) => ask(attackers[n] as string));
    await settle();
    refused.length = 0;
    ask('10.0.0.99', 'newcomer');
    times(19, (n) => ask(attackers[n + 21] as string));
    await settle();
    assert.ok(!refused.includes('newcomer'), refused.join(' '));
    assert.equal(refused.length, 20);
    assert.ok((await countUntil('newcomer')) <= 21);
  });
});
