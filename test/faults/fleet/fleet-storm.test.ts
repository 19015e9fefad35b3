import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makeUpSeed } from '../../support/random.ts';
import { hasPostgres, sharedPostgres } from '../../support/stores/postgres.ts';
import { SUITE_PATIENCE } from './fleet.ts';
import { runFleetStorm } from './fleet-storm.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const getPostgres = sharedPostgres();

describe('three servers on one database', { skip }, () => {
  test('lend no slot twice, count everything once, and record all of it in one order', async (t) => {
    const seed = makeUpSeed();
    t.diagnostic(`seed ${seed}`);
    const sizes = { seconds: 60, mostAcknowledged: 1000, patience: SUITE_PATIENCE };
    const book = await runFleetStorm(t, { postgres: await getPostgres(), seed, ...sizes });
    t.diagnostic(book.describe());
    assert.deepEqual(book.violations, []);
    assert.equal(book.slots.most, 7, 'the slots were scarce');
    assert.ok(book.acknowledged > 500);
  });
});
