import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { Client } from '../../../packages/client/src/client.ts';
import { createRandom } from '../../support/random.ts';
import { LendingServer } from './lending-server.ts';
import { Machine, type Network } from './machine.ts';
import { World } from './world.ts';

const CLIENTS = 1000;
const SLOTS = 5;
const SECONDS = 180;
/** By then they ask at a steady rate. */
const SETTLED_SECONDS = 60;
const WORK_MS = 20_000;
const ENDS_MS = 100_000;

const OPTIONS = { server: 'http://berth.test', product: 'cad' };

test('a thousand clients that wait for five slots take each within a second, and ask politely', async (t) => {
  const world = new World();
  const random = createRandom(1);
  const server = new LendingServer(world, { slots: SLOTS, timeoutMs: ENDS_MS });
  const network: Network = (request, done) => world.at(world.nowMs + 1, () => done(server.answer(request)));
  const freedAtMs: number[] = [];
  const delaysMs: number[] = [];

  // Its slot is not returned, and ends by itself.
  const crashing = new Machine(world, { name: 'crashing', random, network });
  void new Client(crashing.environment, OPTIONS).acquire().then(() => crashing.restart());
  world.at(ENDS_MS, () => freedAtMs.push(world.nowMs));

  for (let n = 0; n < CLIENTS; n++) {
    const machine = new Machine(world, { name: `ws-${n}`, random, network });
    void new Client(machine.environment, OPTIONS).acquire({ wait: '1h' }).then((slot) => {
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
  assert.ok(delaysMs.length > 50, `${delaysMs.length} slots changed hands`);
  assert.ok(Math.max(...delaysMs) < 1000, `${Math.max(...delaysMs)} ms`);
  const settled = server.requests.filter(({ atMs }) => atMs > SETTLED_SECONDS * 1000);
  const asked = settled.length / (SECONDS - SETTLED_SECONDS);
  t.diagnostic(`${asked.toFixed(1)} requests in a second`);
  assert.ok(asked < 25, `${asked} requests in a second`);
});

/** The pauses of a client that waits for so long and is told this, in seconds. */
async function pauseAfter(told: { retryAfter: string | null; freeAfter?: number }, wait = '10m') {
  const world = new World();
  const startMs = Date.UTC(2030, 0, 15, 12);
  const machine = new Machine(world, {
    name: 'ws-1',
    random: createRandom(7),
    network: (_, done) => {
      const freeAtMs = startMs + world.nowMs + (told.freeAfter ?? 0) * 1000;
      const next_free_at = told.freeAfter === undefined ? null : new Date(freeAtMs).toISOString();
      const text = JSON.stringify({ status: 400, code: 'floating_not_available', next_free_at });
      const date = new Date(startMs + world.nowMs).toISOString();
      done({ status: 400, text, date, retryAfter: told.retryAfter });
    },
  });
  const pauses: number[] = [];
  const onWait = ({ retryInMs }: { retryInMs: number }) => pauses.push(retryInMs / 1000);
  const waited = new Client(machine.environment, OPTIONS).acquire({ wait, onWait });
  await Promise.all([assert.rejects(waited, { code: 'floating_not_available' }), world.run(700_000)]);
  // The last one ends with the wait.
  return { first: pauses[0] ?? 0, shortest: Math.min(...pauses.slice(0, -1)), longest: Math.max(...pauses) };
}

test('a pause is about as long as the server says, and about the same each time', async () => {
  const { shortest, longest } = await pauseAfter({ retryAfter: '30' });
  assert.ok(shortest >= 15 && shortest < 25, `${shortest} s`);
  assert.ok(longest <= 45 && longest > 35, `${longest} s`);
});

test('a pause lasts until a slot ends by itself, and then up to as long as the server says', async () => {
  const { shortest, longest } = await pauseAfter({ retryAfter: '30', freeAfter: 5 });
  assert.ok(shortest >= 5 && shortest < 10, `${shortest} s`);
  assert.ok(longest <= 35 && longest > 25, `${longest} s`);
  const alone = await pauseAfter({ retryAfter: null, freeAfter: 5 });
  assert.ok(alone.longest <= 5.5 && alone.longest > 5, `${alone.longest} s`);
});

for (const retryAfter of [null, '0', 'Tue, 15 Jan 2030 12:00:30 GMT']) {
  test(`if the server says ${retryAfter ?? 'nothing'}, pauses become longer, up to 20 s`, async () => {
    const { first, longest } = await pauseAfter({ retryAfter });
    assert.ok(first <= 0.5, `${first} s`);
    assert.ok(longest <= 20 && longest > 15, `${longest} s`);
  });
}

test('no pause is longer than the rest of the wait', async () => {
  const { longest } = await pauseAfter({ retryAfter: '100' }, '20s');
  assert.equal(longest, 20);
});

test('many can wait with one signal, which ends the waits of all, also while they ask', async () => {
  const world = new World();
  const server = new LendingServer(world, { slots: 1, timeoutMs: ENDS_MS });
  const network: Network = (request, done) => world.at(world.nowMs + 1, () => done(server.answer(request)));
  const machine = new Machine(world, { name: 'ws-7', random: createRandom(1), network });
  const open = () => new Client(machine.environment, OPTIONS);
  const stop = new AbortController();
  const ends: unknown[] = [];
  const wait = () => {
    const waited = open().acquire({ wait: '1h', signal: stop.signal });
    waited.catch((error) => ends.push(error));
  };
  void open().acquire();
  for (let n = 0; n < 20; n++) wait();
  await world.run(10);
  assert.equal(getEventListeners(stop.signal, 'abort').length, 1);
  wait();
  stop.abort('enough');
  await world.run(15);
  assert.deepEqual(ends, Array(21).fill('enough'));
});
