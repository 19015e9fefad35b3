import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hasPostgres, sharedPostgres } from '../../support/stores/postgres.ts';
import { makeClocks, runClocks } from './clocks.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const getPostgres = sharedPostgres();

describe('servers whose clocks are twenty minutes apart', { skip }, () => {
  test("use the database's clock: no slot ends early or late, on any server", async (t) => {
    const clocks = await makeClocks(t);
    if (clocks === null) return t.skip('optional: needs libfaketime');
    const report = await runClocks(t, { postgres: await getPostgres(), clocks, seconds: 2 });
    t.diagnostic(`asked ${report.asked} times, lent again after at most ${report.longestDelayMs} ms`);
    assert.deepEqual(report.violations, []);
    assert.ok(report.asked > 10);
  });
});
