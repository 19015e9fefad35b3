import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, describe, test } from 'node:test';
import { type ServerProcess, temporaryFolder } from '../../support/server-process.ts';
import { OWN_PASSWORD, replacePassword, startFreshServer } from '../../support/set-up-server.ts';

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
