import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '../../../packages/client/src/client.ts';
import { createRandom } from '../../support/random.ts';
import { LendingServer } from './lending-server.ts';
import { Machine } from './machine.ts';
import { World } from './world.ts';

const CLIENTS = 1000;
const SLOTS = 5;
const SECONDS = 60;
const WORK_MS = 20_000;

test('a thousand clients that wait for five slots take each within a second, and ask politely', async (t) => {
  const world = new World();
  const random = createRandom(1);
  const server = new LendingServer(world, { slots: SLOTS, timeoutMs: 600_000 });
  const freedAtMs: number[] = [];
  const delaysMs: number[] = [];

  for (let n = 0; n < CLIENTS; n++) {
    const machine = new Machine(world, {
      name: `ws-${n}`,
      random,
      network: (request, done) => world.at(world.nowMs + 1, () => done(server.answer(request))),
    });
    const client = new Client(machine.environment, { server: 'http://berth.test', product: 'cad' });
    void client.acquire({ wait: '1h' }).then((slot) => {
      const freed = freedAtMs.shift();
      if (freed !== undefined) delaysMs.push(world.nowMs - freed);
      const end = async () => {
        await slot.release();
        freedAtMs.push(world.nowMs);
      };
      machine.environment.setTimer(random() * WORK_MS, () => void end(), 'foreground');
    });
  }

  await world.run(SECONDS * 1000);
  t.diagnostic(`${delaysMs.length} slots changed hands, after ${Math.max(...delaysMs)} ms at most`);
  assert.ok(delaysMs.length > 15, `${delaysMs.length} slots changed hands`);
  assert.ok(Math.max(...delaysMs) < 1000, `${Math.max(...delaysMs)} ms`);
  const asked = server.requests.filter(({ atMs }) => atMs > 30_000).length / (SECONDS - 30);
  t.diagnostic(`${Math.round(asked)} requests in a second`);
  assert.ok(asked < 100, `${asked} requests in a second`);
});
