import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '../../../packages/client/src/client.ts';
import type { WireAnswer } from '../../../packages/client/src/environment.ts';
import { createRandom } from '../../support/random.ts';
import { Machine } from './machine.ts';
import { World } from './world.ts';

test('a count that is added while the queue finds out its server is sent to it, too', async () => {
  const world = new World();
  const store_id = 'i'.repeat(43);
  const ids: unknown[] = [];
  let tellStore = (_: WireAnswer) => {};
  const machine = new Machine(world, {
    name: 'ws-7',
    random: createRandom(1),
    network: ({ method, body }, done) => {
      if (method === 'GET') {
        tellStore = done;
        return;
      }
      ids.push(JSON.parse(body).store_id);
      done({ status: 200, text: '{"total_consumptions":1}', date: null });
    },
  });
  const queue = new Client(machine.environment, { server: 'http://berth.test', product: 'cad' }).openQueue();
  await queue.add(1);
  await world.run(world.nowMs + 1);
  const added = queue.add(2);
  tellStore({ status: 200, text: JSON.stringify({ keys: [], store_id }), date: null });
  await added;
  await world.run(world.nowMs + 1000);
  assert.deepEqual(ids, [store_id, store_id]);
  assert.deepEqual([await queue.list(), await queue.listOthers()], [[], []]);
});
