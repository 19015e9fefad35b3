import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '../../../packages/client/src/client.ts';
import type { WireAnswer } from '../../../packages/client/src/environment.ts';
import { createRandom } from '../../support/random.ts';
import { LendingServer } from './lending-server.ts';
import { Machine } from './machine.ts';
import { World } from './world.ts';

/** A program that asks for the only slot. The answers arrive when they are delivered. */
async function openProgram({ isTaken }: { isTaken: boolean }) {
  const world = new World();
  const server = new LendingServer(world, { slots: 1, timeoutMs: 600_000 });
  if (isTaken) {
    server.answer({ url: '/register', headers: {}, body: '{"user":"bob"}', timeoutMs: 0 });
    server.requests.length = 0;
  }
  let deliver = () => {};
  const machine = new Machine(world, {
    name: 'ws-1',
    random: createRandom(1),
    network: (request, done) => {
      const answer: WireAnswer = server.answer(request);
      if (!request.url.endsWith('/register')) return done(answer);
      deliver = () => done(answer);
    },
  });
  const heard: string[] = [];
  const client = new Client(machine.environment, { server: 'http://berth.test', product: 'cad' });
  client.acquire({ wait: '1h' }).then(
    () => heard.push('slot'),
    () => heard.push('error'),
  );
  const end = () => Promise.all([...machine.guards].map((guard) => guard.release()));
  const pass = (seconds: number) => world.run(world.nowMs + seconds * 1000);
  const paths = () => server.requests.map(({ path }) => path);
  await pass(0);
  return { machine, heard, end, pass, paths, deliver: () => deliver() };
}

test('a program that ends during acquire() returns the slot that it hears of', async () => {
  const program = await openProgram({ isTaken: false });
  const ended = program.end();
  await program.pass(0.5);
  assert.deepEqual(program.paths(), ['register'], 'not before its answer');
  program.deliver();
  await program.pass(0);
  await ended;
  assert.deepEqual(program.paths(), ['register', 'unregister']);
  await program.pass(3600);
  assert.deepEqual(program.heard, [], 'it cannot use the slot any more');
  assert.deepEqual(program.paths(), ['register', 'unregister'], 'nor renews it');
});

test('a program that ends during acquire() returns a slot of which it hears nothing', async () => {
  const program = await openProgram({ isTaken: false });
  const ended = program.end();
  await program.pass(1);
  await ended;
  assert.deepEqual(program.paths(), ['register', 'unregister']);
});

test('a program that was denied has nothing to return when it ends, and does not ask again', async () => {
  const program = await openProgram({ isTaken: true });
  program.deliver();
  await program.pass(0.2);
  const [guard] = program.machine.guards;
  assert.equal(guard?.describeRelease(), null);
  const ended = program.end();
  await program.pass(3600);
  await ended;
  assert.deepEqual(program.paths(), ['register']);
  assert.deepEqual(program.heard, []);
});

test('a program that is denied while it ends has nothing to return', async () => {
  const program = await openProgram({ isTaken: true });
  const ended = program.end();
  program.deliver();
  await program.pass(10);
  await ended;
  assert.deepEqual(program.paths(), ['register']);
});

test('a program that has a slot returns it once when it ends', async () => {
  const program = await openProgram({ isTaken: false });
  program.deliver();
  await program.pass(0);
  assert.deepEqual([program.heard, program.machine.guards.size], [['slot'], 1]);
  await Promise.all([program.end(), program.pass(1)]);
  assert.deepEqual(program.paths(), ['register', 'unregister']);
});

test('a client has one name in all requests for a slot, and another one for the next slot', async () => {
  const world = new World();
  const server = new LendingServer(world, { slots: 1, timeoutMs: 600_000 });
  const sent: [path: string, instance: unknown][] = [];
  const machine = new Machine(world, {
    name: 'ws-1',
    random: createRandom(1),
    network: (request, done) => {
      sent.push([request.url.split('/').at(-1) as string, JSON.parse(request.body).instance]);
      done(server.answer(request));
    },
  });
  const options = { server: 'http://berth.test', product: 'cad', user: 'ada' };
  const client = new Client(machine.environment, options);
  for (let turn = 0; turn < 2; turn++) {
    const taken = client.acquire();
    await world.run(world.nowMs + 300_000);
    const slot = await taken;
    await Promise.all([slot.release(), world.run(world.nowMs + 1000)]);
  }
  const names = [...new Set(sent.map(([, instance]) => instance))];
  assert.equal(names.length, 2);
  for (const name of names) {
    const paths = sent.filter(([, instance]) => instance === name).map(([path]) => path);
    assert.deepEqual(paths, ['register', 'register', 'unregister']);
  }
});
