import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makeUpSeed } from '../../support/random.ts';
import { hasPostgres, sharedPostgres } from '../../support/stores/postgres.ts';
import { SUITE_PATIENCE } from './fleet.ts';
import { runTakeover } from './takeover.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const getPostgres = sharedPostgres();

describe('when the server that does the background work is killed', { skip }, () => {
  test('another one takes over, sends every event in order, and clients lose nothing', async (t) => {
    const seed = makeUpSeed();
    t.diagnostic(`seed ${seed}`);
    const sizes = { cycles: 1, longestRestMs: 400, patience: SUITE_PATIENCE };
    const report = await runTakeover(t, { postgres: await getPostgres(), seed, ...sizes });
    t.diagnostic(`another one led after ${report.takeoversMs.map(Math.round)} ms`);
    t.diagnostic(`${report.events} events, ${report.repeatedEvents} of them more than once`);
    t.diagnostic(report.book.describe());
    assert.deepEqual(report.book.violations, []);
    assert.equal(report.takeoversMs.length, 1);
    assert.ok(report.events > 50);
  });
});
