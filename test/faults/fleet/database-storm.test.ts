import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { makeUpSeed } from '../../support/random.ts';
import { hasPostgres, startPostgres, type TestPostgres } from '../../support/stores/postgres.ts';
import { runDatabaseStorm } from './database-storm.ts';
import { SUITE_PATIENCE } from './fleet.ts';

/** One behind a URL is not ours to crash. */
const canCrash = hasPostgres && process.env.BERTH_TEST_DATABASE_URL === undefined;
const skip = canCrash ? false : 'optional: needs a PostgreSQL of its own';

let postgres: TestPostgres;
before(async () => {
  if (canCrash) postgres = await startPostgres();
});
after(() => postgres?.end());

describe('a database that crashes under the load of two servers', { skip }, () => {
  test('has lost nothing that was acknowledged, and the servers recover by themselves', async (t) => {
    const seed = makeUpSeed();
    t.diagnostic(`seed ${seed}`);
    const sizes = { cycles: 2, longestRestMs: 200, patience: SUITE_PATIENCE };
    const { book, recoveriesMs } = await runDatabaseStorm(t, { postgres, seed, ...sizes });
    t.diagnostic(`longest recovery ${Math.round(Math.max(...recoveriesMs))} ms`);
    t.diagnostic(book.describe());
    assert.deepEqual(book.violations, []);
    assert.equal(recoveriesMs.length, 4, 'two crashes, two servers');
    assert.ok(book.acknowledged > 200);
  });
});
