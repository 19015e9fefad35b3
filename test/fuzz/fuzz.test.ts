import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { readSeed } from '../support/random.ts';
import { startServerProcess, temporaryFolder } from '../support/server-process.ts';
import { SMUGGLED } from './fuzz-bytes.ts';
import { runEpisode, type Tally } from './fuzz-episode.ts';
import { fuzzSockets } from './fuzz-sockets.ts';

/**
 * How many requests in all: `BERTH_FUZZ_REQUESTS`, or the first argument of this file when it is run by
 * itself, as `npm run fuzz` does. `BERTH_SEED` sends the same ones again.
 */
const REQUESTS = Number(process.env.BERTH_FUZZ_REQUESTS ?? process.argv[2] ?? 1000);
const SEED = readSeed();

/** One in so many goes over a connection of its own, as bytes. */
const RAW_EVERY = 20;
const RAW = Math.ceil(REQUESTS / RAW_EVERY);
const COOKED = REQUESTS - RAW;

/** Each episode has a server of its own: what led to a failure is then never far. */
const EPISODE_REQUESTS = 1000;

/** Contexts of tests clean up when they end; an episode does at its own end. */
async function inEpisode<T>(run: (t: { after(work: () => unknown): void }) => Promise<T>): Promise<T> {
  const works: (() => unknown)[] = [];
  try {
    return await run({ after: (work) => works.push(work) });
  } finally {
    for (const work of works.reverse()) await work();
  }
}

describe('every request', () => {
  test('is answered in good form and in time, and changes nothing where it is refused', async (t) => {
    const tally: Tally = new Map();
    let whole = 0;
    for (let sent = 0, turn = 0; sent < COOKED; sent += EPISODE_REQUESTS, turn++) {
      const seed = SEED + turn;
      const requests = Math.min(EPISODE_REQUESTS, COOKED - sent);
      const isLast = sent + requests >= COOKED;
      const episode = inEpisode((context) => runEpisode(context, { seed, requests, isLast }, tally));
      const { isWhole } = await episode.catch((error: unknown) => {
        const inAll = Math.ceil((requests * RAW_EVERY) / (RAW_EVERY - 1)) + 1;
        t.diagnostic(`BERTH_SEED=${seed} BERTH_FUZZ_REQUESTS=${inAll} sends these again`);
        throw error;
      });
      if (isWhole) whole += 1;
    }
    const [slowest] = [...tally].sort(([, a], [, b]) => b.slowestMs - a.slowestMs);
    t.diagnostic(`seed ${SEED} (BERTH_SEED), ${COOKED} of ${REQUESTS} requests (BERTH_FUZZ_REQUESTS)`);
    t.diagnostic(JSON.stringify({ requests: COOKED }));
    t.diagnostic(`slowest: ${slowest?.[0]} ${slowest?.[1].slowestMs.toFixed(1)} ms`);
    t.diagnostic(`the audit log was added up after ${whole} episodes`);
    assert.ok(whole > 0, 'the audit log could be added up');
    for (const [name, { calls, admitted, isCostly }] of tally) {
      assert.ok(calls > 0, `${name} was called`);
      assert.ok(admitted > 0 || isCostly, `${name} was called by somebody who may`);
    }
  });
});

/** The server has found out what was asked for. */
const UNDERSTOOD = [200, 204, 401, 404, 405];

/** Whether a user is named anywhere in what a stopped server keeps: slots, denials, the audit log. */
function isKnownIn(data: string, user: string): boolean {
  return readFileSync(join(data, 'berth.db')).includes(user);
}

describe('whatever is sent to its port', () => {
  test('a server answers refusals or closes the connection, and continues', async (t) => {
    const data = temporaryFolder(t);
    const server = await startServerProcess({ data, args: ['--demo', '--auth-local-admin', 'always'] });
    t.after(() => server.stop('SIGKILL'));
    t.diagnostic(`seed ${SEED} (BERTH_SEED), ${RAW} of ${REQUESTS} requests (BERTH_FUZZ_REQUESTS)`);
    const statuses = await fuzzSockets(server, { seed: SEED, connections: RAW });
    t.diagnostic(JSON.stringify({ requests: RAW }));
    t.diagnostic(`answers: ${JSON.stringify(Object.fromEntries(statuses))}`);
    assert.ok(statuses.has(400), 'some were not read as requests');
    assert.ok(
      UNDERSTOOD.some((status) => statuses.has(status)),
      'some were',
    );
    assert.equal((await fetch(`${server.url}/api/v4/health`)).status, 200);
    await fetch(`${server.url}/api/v4/register`, { method: 'POST', body: '{"user":"not smuggled at all"}' });
    assert.equal(await server.stop(), 0);
    // Without quotes it stands in several rows: one of them may be cut by the end of a page.
    assert.ok(isKnownIn(data, 'not smuggled at all'), 'a user would be found');
    assert.ok(!isKnownIn(data, `"${SMUGGLED}"`), 'no request hid in another');
    assert.doesNotMatch(server.readLog(), /"level":"error"|"msg":"bug"|\n {4}at /);
  });
});
