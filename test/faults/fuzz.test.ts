import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runEpisode, type Tally } from './fuzz-episode.ts';
import { makeUpSeed } from './random.ts';

/**
 * How many requests in all: `BERTH_FUZZ_REQUESTS`, or the first argument of this file when it is run by
 * itself, as `npm run fuzz` does. `BERTH_SEED` sends the same ones again.
 */
const REQUESTS = Number(process.env.BERTH_FUZZ_REQUESTS ?? process.argv[2] ?? 30_000);
const SEED = Number(process.env.BERTH_SEED ?? makeUpSeed());

/** Each episode has a server of its own: what led to a failure is then never far. */
const EPISODE_REQUESTS = 2000;

/** Contexts of tests clean up when they end; an episode does at its own end. */
async function inEpisode(run: (t: { after(work: () => unknown): void }) => Promise<void>): Promise<void> {
  const works: (() => unknown)[] = [];
  try {
    await run({ after: (work) => works.push(work) });
  } finally {
    for (const work of works.reverse()) await work();
  }
}

describe('whatever is asked', () => {
  test('is answered in good form and in time, and changes nothing where it is refused', async (t) => {
    const tally: Tally = new Map();
    for (let sent = 0, turn = 0; sent < REQUESTS; sent += EPISODE_REQUESTS, turn++) {
      const seed = SEED + turn;
      const requests = Math.min(EPISODE_REQUESTS, REQUESTS - sent);
      await inEpisode((context) => runEpisode(context, { seed, requests }, tally)).catch((error: unknown) => {
        t.diagnostic(`BERTH_SEED=${seed} BERTH_FUZZ_REQUESTS=${requests} sends these again`);
        throw error;
      });
    }
    const [slowest] = [...tally].sort(([, a], [, b]) => b.slowestMs - a.slowestMs);
    t.diagnostic(`seed ${SEED} (BERTH_SEED), ${REQUESTS} requests (BERTH_FUZZ_REQUESTS)`);
    t.diagnostic(`slowest: ${slowest?.[0]} ${slowest?.[1].slowestMs.toFixed(1)} ms`);
    for (const [name, { calls, admitted }] of tally) {
      assert.ok(calls > 0 && admitted > 0, `${name}: ${calls} calls, ${admitted} by somebody who may`);
    }
  });
});
