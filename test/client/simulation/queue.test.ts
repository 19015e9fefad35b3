import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '../../../packages/client/src/client.ts';
import { NotSentError } from '../../../packages/client/src/environment.ts';
import { createRandom } from '../../support/random.ts';
import { Machine } from './machine.ts';
import { World } from './world.ts';

test('a count that is added while the queue finds out its server is sent to it, too', async () => {
  const world = new World();
  const store_id = 'i'.repeat(43);
  const ids: unknown[] = [];
  let isStored = () => {};
  const slow = new Promise<void>((resolve) => {
    isStored = resolve;
  });
  const machine = new Machine(world, {
    name: 'ws-7',
    random: createRandom(1),
    network: ({ method, body }, done) => {
      if (method === 'GET') {
        done({ status: 200, text: JSON.stringify({ keys: [], store_id }), date: null });
        return;
      }
      ids.push(JSON.parse(body).store_id);
      done({ status: 200, text: '{"total_consumptions":1}', date: null });
    },
  });
  const { storage } = machine.environment;
  const write = async (name: string, text: string) => {
    if (text.includes('"consumptions":2')) await slow;
    await storage.write(name, text);
  };
  const options = { server: 'http://berth.test', product: 'cad', storage: { ...storage, write } };
  const queue = new Client(machine.environment, options).openQueue();
  const added = [queue.add(1), queue.add(2)];
  await world.run(world.nowMs + 1000);
  isStored();
  await Promise.all(added);
  await world.run(world.nowMs + 1000);
  assert.deepEqual(ids, [store_id, store_id]);
  assert.deepEqual([await queue.list(), await queue.listOthers()], [[], []]);
});

test('counts for an address that never answered can be moved, as the docs say', async () => {
  const world = new World();
  const counted: unknown[] = [];
  const machine = new Machine(world, {
    name: 'ws-7',
    random: createRandom(1),
    network: ({ url, method, body }, done) => {
      if (url.startsWith('http://wrong.test')) return done(new NotSentError('no such host'));
      const text = method === 'GET' ? '{"keys":[]}' : '{"total_consumptions":1}';
      if (method !== 'GET') counted.push([JSON.parse(body).consumptions, JSON.parse(body).feature]);
      done({ status: 200, text, date: null });
    },
  });
  const open = (server: string) => new Client(machine.environment, { server, product: 'cad' }).openQueue();
  const wrong = open('http://wrong.test');
  await Promise.all([wrong.add(2), wrong.add(3, { feature: 'export' })]);
  await world.run(world.nowMs + 1000);
  await wrong.close();
  const queue = open('http://berth.test');
  for (const { key, body, triedAtMs } of await queue.listOthers()) {
    assert.equal(triedAtMs, null);
    await queue.add(body.consumptions as number, { feature: body.feature as string });
    await queue.settle(key, true);
  }
  await world.run(world.nowMs + 1000);
  assert.deepEqual(counted, [
    [2, undefined],
    [3, 'export'],
  ]);
  assert.deepEqual([await queue.list(), await queue.listOthers()], [[], []]);
});

test('counts of a newer client, and damaged ones, are left alone', async () => {
  const world = new World();
  const store_id = 'i'.repeat(43);
  const counted: string[] = [];
  const machine = new Machine(world, {
    name: 'ws-7',
    random: createRandom(1),
    network: ({ method, headers }, done) => {
      if (method !== 'GET') counted.push(String(headers['idempotency-key']));
      const fields = method === 'GET' ? { keys: [], store_id } : { total_consumptions: 1 };
      done({ status: 200, text: JSON.stringify(fields), date: null });
    },
  });
  const { storage } = machine.environment;
  const open = () =>
    new Client(machine.environment, { server: 'http://berth.test', product: 'cad' }).openQueue();
  const first = open();
  await first.add(1, { key: 'right' });
  const [from = ''] = await storage.list('count@');
  const stored = JSON.parse((await storage.read(from)) ?? '');
  assert.equal(stored.version, 1);
  await first.close();
  const own = `count@cad@${store_id}@`;
  const suffix = from.slice(from.lastIndexOf('@') + 1);
  const wrong = {
    // A newer client has taken over the first count, and ended before it removed the old one.
    [own + suffix]: { version: 2 },
    [`${from}2`]: { version: 2 },
    [`${own}3`]: { version: undefined },
    [`${own}4`]: { key: 7 },
    [`${own}5`]: { path: 'register' },
    [`${own}6`]: { body: [] },
    [`${own}7`]: { body: null },
    [`${own}8`]: { triedAtMs: '1' },
    [`${own}9`]: null,
  };
  const left = Object.entries(wrong).map(([name, change]): [string, string] => {
    return [name, JSON.stringify(change && { ...stored, ...change })];
  });
  for (const [name, text] of left) await storage.write(name, text);
  await storage.write(`${own}0`, JSON.stringify({ ...stored, key: 'another' }));
  const queue = open();
  await world.run(world.nowMs + 100_000);
  assert.deepEqual([counted, await queue.list()], [['another'], []]);
  const texts = await Promise.all(left.map(([name]) => storage.read(name)));
  assert.deepEqual(
    texts,
    left.map(([, text]) => text),
  );
  assert.equal((await storage.list('count@')).length, left.length);
});
