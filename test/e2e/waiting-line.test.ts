import assert from 'node:assert/strict';
import { type ClientRequest, request } from 'node:http';
import { type TestContext, test } from 'node:test';
import { DEMO_LICENSE } from '../../packages/server/src/core/nouns/demo-license.ts';
import type { Answer, AuditedEvent } from '../support/berth-api.ts';
import { pollUntil } from '../support/poll.ts';
import { ServerUnderTest } from '../support/server-under-test.ts';
import { describeStores, findDatabase, useDatabase } from '../support/stores/test-stores.ts';
import { testLicense } from '../support/test-license.ts';

const WAIT = { prefer: 'wait=20' };

function ask(user: string) {
  return { product: 'cad', user };
}

function waitFor(server: ServerUnderTest, user: string, headers = WAIT): Promise<Answer> {
  return server.api.post('/api/v4/register', ask(user), headers);
}

async function waitUntil(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  await pollUntil(what, async () => ((await isTrue()) ? true : undefined));
}

async function listLine(server: ServerUnderTest): Promise<readonly Record<string, unknown>[]> {
  const { body } = await server.api.get('/api/admin/line');
  return body.line as readonly Record<string, unknown>[];
}

function isInLine(server: ServerUnderTest, user: string, isConnected = true): Promise<void> {
  return waitUntil(`${user} in line`, async () =>
    (await listLine(server)).some((one) => one.user === user && one.is_connected === isConnected),
  );
}

/** They wait in this order. */
async function startWaiting(server: ServerUnderTest, users: readonly string[]) {
  const answers: Promise<Answer>[] = [];
  for (const user of users) {
    answers.push(waitFor(server, user));
    await isInLine(server, user);
  }
  return answers;
}

async function listHolders(server: ServerUnderTest): Promise<readonly string[]> {
  return (await server.api.holders()).map(({ user }) => user).sort();
}

/** A request whose client can be killed. */
function sendFrom(server: ServerUnderTest, user: string): ClientRequest {
  const options = { method: 'POST', headers: { 'content-type': 'application/json', ...WAIT } };
  const sent = request(`${server.url}/api/v4/register`, options);
  sent.on('error', () => {});
  sent.end(JSON.stringify(ask(user)));
  return sent;
}

async function listDenied(server: ServerUnderTest): Promise<readonly AuditedEvent[]> {
  return (await server.api.eventsAfter(0)).filter(({ kind }) => kind === 'slot_denied');
}

const ONE_SLOT = { isHere: true, licenses: [testLicense(7, { slots: 1 })] };

describeStores('waiting for a slot', (store) => {
  test('slots are handed on in the order in which their users came', async (t) => {
    const server = await ServerUnderTest.start(t, ONE_SLOT);
    await server.api.register(ask('holder'));
    const users = ['ada', 'bob', 'cem'];
    const answers = await startWaiting(server, users);
    assert.deepEqual(
      (await listLine(server)).map(({ user, position, why, rule }) => [user, position, why, rule]),
      users.map((user, index) => [user, index + 1, 'full', null]),
    );
    for (const [index, holder] of ['holder', 'ada', 'bob'].entries()) {
      await server.api.unregister(ask(holder));
      // Whoever does not wait stands behind those who do.
      const { body, headers } = await server.api.register(ask('poller'));
      assert.equal(body.code, 'floating_not_available');
      assert.deepEqual([body.position, headers?.['preference-applied']], [undefined, undefined]);
      const answer = (await answers[index]) as Answer;
      assert.deepEqual([answer.status, answer.headers?.['preference-applied']], [200, 'wait']);
      assert.deepEqual(await listHolders(server), [users[index]]);
    }
  });

  test('a slot that ends by itself is handed on, too', async (t) => {
    const licenses = [testLicense(7, { slots: 1, timeoutMinutes: 1 / 30 })];
    const server = await ServerUnderTest.start(t, { isHere: true, licenses });
    await server.api.register(ask('holder'));
    assert.equal((await waitFor(server, 'ada')).status, 200);
    assert.deepEqual(await listHolders(server), ['ada']);
  });

  test('when the time is over, the refusal says where the user stands, and is recorded', async (t) => {
    const server = await ServerUnderTest.start(t, ONE_SLOT);
    await server.api.register(ask('holder'));
    const [first] = await startWaiting(server, ['ada']);
    const { status, body, headers } = await waitFor(server, 'bob', { prefer: 'return=minimal, wait=1' });
    assert.deepEqual([status, body.code], [400, 'floating_not_available']);
    assert.deepEqual([body.position, body.waiting], [2, 2]);
    assert.match(String(body.next_free_at), /^\d{4}-.*Z$/);
    assert.deepEqual(
      [headers?.['preference-applied'], headers?.['retry-after'] !== undefined],
      ['wait', true],
    );
    assert.deepEqual(
      (await listDenied(server)).map(({ user }) => user),
      ['bob'],
      'who still waits was not denied',
    );
    await server.api.unregister(ask('holder'));
    assert.equal((await first)?.status, 200);
  });

  test('a client that is gone no longer waits, and its slot is not lost', async (t) => {
    const server = await ServerUnderTest.start(t, ONE_SLOT);
    await server.api.register(ask('holder'));
    const gone = sendFrom(server, 'gone');
    await isInLine(server, 'gone');
    const [next] = await startWaiting(server, ['ada']);
    gone.destroy();
    await isInLine(server, 'gone', false);
    await server.api.unregister(ask('holder'));
    assert.equal((await next)?.status, 200);
    // Back within ten seconds, they have their place again.
    const [back] = await startWaiting(server, ['gone']);
    await server.api.unregister(ask('ada'));
    assert.equal((await back)?.status, 200);
  });

  test('of two programs of a user, both get the slot, and one may leave', async (t) => {
    const server = await ServerUnderTest.start(t, ONE_SLOT);
    await server.api.register(ask('holder'));
    const [first] = await startWaiting(server, ['ada']);
    const second = waitFor(server, 'ada');
    const third = sendFrom(server, 'ada');
    await new Promise((resolve) => third.once('socket', (socket) => socket.once('connect', resolve)));
    third.destroy();
    await server.api.unregister(ask('holder'));
    assert.deepEqual([(await first)?.status, (await second).status], [200, 200]);
    assert.deepEqual(await listHolders(server), ['ada']);
  });

  test('a slot that one client was answered with stays lent when another of its user dies', async (t) => {
    const server = await ServerUnderTest.start(t, ONE_SLOT);
    await dieAtHandOvers(server, server);
  });

  test('every other refusal is answered at once, also when it arises while waiting', async (t) => {
    const server = await ServerUnderTest.start(t, ONE_SLOT);
    const unknown = await server.api.post('/api/v4/register', { product: 'none', user: 'ada' }, WAIT);
    assert.equal(unknown.body.code, 'unknown_product');
    await server.api.register(ask('holder'));
    const [answer] = await startWaiting(server, ['ada']);
    await server.api.post('/api/admin/bars', { kind: 'user', pattern: 'ada' });
    assert.equal((await answer)?.body.code, 'blacklisted');
  });

  test('a slot of a feature can be waited for', async (t) => {
    const features = DEMO_LICENSE.features.map((feature) => ({
      ...feature,
      floating: feature.floating && { ...feature.floating, slots: 1 },
    }));
    const code = features.find(({ floating }) => floating !== null)?.code;
    const server = await ServerUnderTest.start(t, { isHere: true, licenses: [testLicense(7, { features })] });
    const askFeature = (user: string) => ({ ...ask(user), feature: code });
    const take = (user: string) => server.api.post('/api/v4/featureRegister', askFeature(user), WAIT);
    for (const user of ['ada', 'bob']) await server.api.register(ask(user));
    assert.equal((await take('cem')).body.code, 'device_not_found');
    assert.equal((await take('ada')).status, 200);
    const second = take('bob');
    await isInLine(server, 'bob');
    await server.api.post('/api/v4/featureRelease', askFeature('ada'));
    assert.equal((await second).status, 200);
  });

  test('a full line answers at once, as ever', async (t) => {
    const server = await ServerUnderTest.start(t, { ...ONE_SLOT, args: ['--lending-max-waiting', '1'] });
    await server.api.register(ask('holder'));
    const [first] = await startWaiting(server, ['ada']);
    const { body, headers } = await waitFor(server, 'bob');
    assert.equal(body.code, 'floating_not_available');
    assert.deepEqual([body.position, headers?.['preference-applied']], [undefined, undefined]);
    await server.api.unregister(ask('holder'));
    assert.equal((await first)?.status, 200);
  });

  test('a server that stops answers all who wait', async (t) => {
    const server = await ServerUnderTest.start(t, { licenses: ONE_SLOT.licenses });
    await server.api.register(ask('holder'));
    const users = ['ada', 'bob'];
    const answers = await startWaiting(server, users);
    process.kill(server.pid, 'SIGTERM');
    for (const answer of answers) {
      const { body, headers } = await answer;
      assert.deepEqual([body.code, typeof headers?.['retry-after']], ['floating_not_available', 'string']);
    }
  });

  test('those who only repeat the call get a place, if the server is set so', async (t) => {
    const server = await ServerUnderTest.start(t, {
      ...ONE_SLOT,
      args: ['--lending-hold-for-retries', '30'],
    });
    await server.api.register(ask('holder'));
    assert.equal((await server.api.register(ask('poller'))).status, 400);
    const [waiting] = await startWaiting(server, ['ada']);
    await server.api.unregister(ask('holder'));
    assert.equal((await server.api.register(ask('other'))).status, 400, 'the slot is kept');
    assert.equal((await server.api.register(ask('poller'))).status, 200);
    await server.api.unregister(ask('poller'));
    assert.equal((await waiting)?.status, 200);
  });

  if (store === 'PostgreSQL') {
    test('what one server was answered stays lent when a client of another one dies', async (t) => {
      const first = await ServerUnderTest.start(t, ONE_SLOT);
      const second = await startBeside(t, first);
      await dieAtHandOvers(first, second);
      await dieAtHandOvers(second, first);
    });

    test('what was lent to who waits on a server that is killed is handed on', async (t) => {
      const first = await ServerUnderTest.start(t, ONE_SLOT);
      const second = ServerUnderTest.make(t, undefined, { env: await keyOf(first) });
      useDatabase(second.data, (await findDatabase(first.data)) as string);
      await second.start();
      await first.api.register(ask('holder'));
      const lost = sendFrom(second, 'ada');
      await isInLine(first, 'ada');
      // It is handed the slot, and cannot fetch it.
      process.kill(second.pid, 'SIGSTOP');
      await first.api.unregister(ask('holder'));
      assert.deepEqual(await listHolders(first), ['ada']);
      await second.stop('SIGKILL');
      lost.destroy();
      assert.equal((await waitFor(first, 'bob')).status, 200);
      assert.deepEqual(await listHolders(first), ['bob']);
    });

    test('two servers on one database have one line', async (t) => {
      const first = await ServerUnderTest.start(t, ONE_SLOT);
      const second = await startBeside(t, first);
      await first.api.register(ask('holder'));
      const users = ['ada', 'bob', 'cem', 'dan'];
      const answers: Promise<Answer>[] = [];
      for (const [index, user] of users.entries()) {
        const server = index % 2 === 0 ? second : first;
        answers.push(waitFor(server, user));
        await isInLine(first, user);
      }
      for (const [index, holder] of ['holder', 'ada', 'bob', 'cem'].entries()) {
        await first.api.unregister(ask(holder));
        assert.equal(((await answers[index]) as Answer).status, 200);
        assert.deepEqual(await listHolders(second), [users[index]]);
      }
    });
  }
});

/** So often that a client dies just before the slot is handed to it, and just after, and in between. */
const HAND_OVERS = 24;

/** Two clients of one user wait. One of them dies when there is a slot. */
async function dieAtHandOvers(server: ServerUnderTest, other: ServerUnderTest): Promise<void> {
  for (let round = 0; round < HAND_OVERS; round++) {
    await server.api.register(ask('holder'));
    const gone = sendFrom(other, 'ada');
    const closed = new Promise((resolve) => gone.once('close', resolve));
    await isInLine(server, 'ada');
    const answer = waitFor(server, 'ada');
    await waitUntil('both wait', async () => (await countWaiting(server, other)) === 2);
    const returned = server.api.unregister(ask('holder'));
    if (round % 3 === 0) await returned;
    if (round % 3 === 1) gone.once('response', () => gone.destroy());
    else gone.destroy();
    assert.equal((await answer).status, 200);
    await Promise.all([returned, closed]);
    for (const one of [other, server]) await listLine(one);
    assert.equal((await server.api.unregister(ask('ada'))).status, 200, 'she holds the slot');
  }
}

/** The connections of both that wait. */
async function countWaiting(...servers: readonly ServerUnderTest[]): Promise<number> {
  const texts = await Promise.all([...new Set(servers)].map(({ api }) => api.get('/metrics')));
  const counts = texts.map(({ text }) => Number(/^berth_waiting (\d+)$/m.exec(text)?.[1]));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Another server on the same database. */
async function startBeside(t: TestContext, first: ServerUnderTest): Promise<ServerUnderTest> {
  const second = ServerUnderTest.make(t, undefined, { isHere: true, env: await keyOf(first) });
  useDatabase(second.data, (await findDatabase(first.data)) as string);
  await second.start();
  return second;
}

/** Servers on one database share the master key. */
async function keyOf(server: ServerUnderTest): Promise<Readonly<Record<string, string>>> {
  return { BERTH_MASTER_KEY_FILE: `${server.data}/master.key` };
}
