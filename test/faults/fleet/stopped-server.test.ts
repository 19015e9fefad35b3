import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makeUpSeed } from '../../support/random.ts';
import { hasPostgres, sharedPostgres } from '../../support/stores/postgres.ts';
import { SUITE_PATIENCE } from './fleet.ts';
import { runStoppedServer } from './stopped-server.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const getPostgres = sharedPostgres();

describe('a server that is stopped in the middle of a transaction', { skip }, () => {
  test('delays the other one only briefly, and does no harm when it resumes', async (t) => {
    const seed = makeUpSeed();
    t.diagnostic(`seed ${seed}`);
    // Longer than the database lets a transaction say nothing.
    const sizes = { seconds: 8, longestRestMs: 400, patience: SUITE_PATIENCE };
    const report = await runStoppedServer(t, { postgres: await getPostgres(), seed, ...sizes });
    t.diagnostic(`the other one waited ${Math.round(report.waitedMs)} ms`);
    t.diagnostic(report.book.describe());
    assert.deepEqual(report.book.violations, []);
    assert.ok(report.acknowledgedMeanwhile > 50);
  });
});
