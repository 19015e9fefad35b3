import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, describe, test } from 'node:test';
import { type ServerProcess, temporaryFolder } from '../../support/server-process.ts';
import { OWN_PASSWORD, replacePassword, startFreshServer } from '../../support/set-up-server.ts';
import { CONTROL, openTestApp, readTraces } from '../../support/test-app.ts';

/** The servers of this file share their compiled code, which makes them start faster. */
process.env.NODE_COMPILE_CACHE = temporaryFolder({ after });

/** Signs in from one of the addresses of this machine, and answers the status. */
function signIn(url: string, from: string, name: string, password: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
  const options = { headers: { authorization }, agent: new Agent(), localAddress: from };
  const outgoing = request(`${url}/auth`, options, (incoming) => {
    incoming.resume().once('end', () => resolve(incoming.statusCode as number));
  });
  outgoing.on('error', reject).end();
  return promise;
}

const ATTACKERS = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5'];
const GUESSES_AT_ONCE = 8;

/** Keeps so many guesses of each attacker under way, each for another name, until it is told to stop. */
function startGuessing(url: string) {
  const state = { completed: 0, isStopped: false };
  const { promise: underWay, resolve: begun } = Promise.withResolvers<void>();
  const worker = async (from: string, n: number) => {
    for (let guess = 0; !state.isStopped; guess++) {
      const status = await signIn(url, from, `user-${n}-${guess}`, 'a wrong password');
      if (status === 401) state.completed += 1;
      if (state.completed >= GUESSES_AT_ONCE) begun();
    }
  };
  const ended = Promise.allSettled(
    ATTACKERS.flatMap((from) => Array.from({ length: GUESSES_AT_ONCE }, (_, n) => worker(from, n))),
  );
  return {
    underWay,
    countCompleted: () => state.completed,
    /** What is under way when the server ends gets no answer. */
    async stop(server: ServerProcess) {
      state.isStopped = true;
      await server.stop('SIGKILL');
      await ended;
    },
  };
}

describe('guessing passwords', () => {
  test('sign-in lockout: five addresses that guess without end keep nobody out', async (t) => {
    const server = await startFreshServer(t);
    const { url } = server;
    await replacePassword(server);
    const guessing = startGuessing(url);
    await guessing.underWay;
    for (let time = 0; time < 2; time++) {
      const before = guessing.countCompleted();
      assert.equal(await signIn(url, '127.0.0.6', 'admin', OWN_PASSWORD), 200);
      const waited = guessing.countCompleted() - before;
      // One round of the five, and what was under way; all that wait would be forty.
      assert.ok(waited <= 15, `${waited} guesses were answered before the right password`);
    }
    await guessing.stop(server.process);
  });
});

describe("a slip in an administrator's request", () => {
  test('a misspelled license_id: the audit log is not thinned out as a whole', async (t) => {
    const app = await openTestApp(t);
    await app.post('/api/v4/register', { user: 'ann' });
    app.clock.advance(60 * 60 * 1000);
    await app.post('/api/v4/register', { user: 'bob' });
    const before = await readTraces(app.store);
    const wish = { before: '2030-01-15T12:30:00Z', licenseid: 1 };
    assert.equal((await app.post('/api/admin/audit/thin', wish)).body.code, 'validation_error');
    assert.deepEqual(await readTraces(app.store), before);
  });

  for (const body of [{ newkey: 'x' }, { new_key: null }, { new_key: ' ' }]) {
    test(`a master key sent as ${JSON.stringify(body)}: none is made up in its place`, async (t) => {
      const app = await openTestApp(t);
      const before = await app.get('/api/admin/keys');
      assert.equal((await app.post('/api/admin/keys/rotate', body)).body.code, 'validation_error');
      assert.deepEqual((await app.get('/api/admin/keys')).body, before.body);
    });
  }

  for (const password of ['', '   ', null]) {
    test(`a password sent as ${JSON.stringify(password)}: none is made up in its place`, async (t) => {
      const app = await openTestApp(t);
      await app.accounts.add({ name: 'ann', role: 'user', password: OWN_PASSWORD }, 'test');
      const answer = await app.post('/api/admin/users/password', { name: 'ann', password });
      assert.equal(answer.body.code, 'validation_error', answer.text);
      assert.ok(await app.accounts.signIn({ name: 'ann', password: OWN_PASSWORD, address: '' }));
    });
  }
});

describe('work that costs much', () => {
  test('parallel exports: two run at once, others are told to come again', async (t) => {
    const app = await openTestApp(t);
    const open = () =>
      app.app.request('/api/admin/audit/export', { headers: { host: 'localhost' } }, { peer: CONTROL });
    const [first, second, third] = [await open(), await open(), await open()];
    assert.deepEqual([first.status, second.status, third.status], [200, 200, 429]);
    assert.equal(third.headers.get('retry-after'), '10');
    assert.match(((await third.json()) as { message: string }).message, /exports .* are under way already/);
    await first.body?.cancel();
    assert.equal((await open()).status, 200);
  });
});
