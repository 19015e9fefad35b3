import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { hasPostgres, sharedPostgres } from '../../../../../../test/support/stores/postgres.ts';
import { Fault } from '../../../../src/core/nouns/fault.ts';
import { type Ask, isStorable, readSnapshot } from '../../../../src/store/postgres/wire/ask.ts';
import { parseDatabaseUrl } from '../../../../src/store/postgres/wire/database-url.ts';
import { Pool } from '../../../../src/store/postgres/wire/pool.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const shared = sharedPostgres();
let pool: Pool;

before(async () => {
  if (skip) return;
  pool = new Pool({
    target: parseDatabaseUrl(await (await shared()).createDatabase()),
    max: 2,
    prepareStatements: true,
    acquireTimeoutMs: 10_000,
    connectTimeoutMs: 10_000,
    answerTimeoutMs: 30_000,
  });
  await query('CREATE TABLE note (n BIGINT)');
});

after(async () => {
  if (!skip) await pool.close();
});

function query(text: string) {
  return pool.use((connection) => connection.query(text));
}

/** Sends queries, and makes sure that no transaction is left open. */
function asOfOneMoment<T>(timeoutMs: number, read: (ask: Ask) => Promise<T>): Promise<T> {
  return pool.use(async (connection) => {
    try {
      return await readSnapshot(connection, timeoutMs, read);
    } finally {
      const [row] = await connection.query('SELECT now() = statement_timestamp() AS is_over');
      assert.equal(row?.is_over, true);
    }
  });
}

const COUNT = 'SELECT count(*) AS count FROM note';

describe('queries as of one moment', { skip }, () => {
  test('do not see what is written meanwhile', async () => {
    const counts = await asOfOneMoment(10_000, async (ask) => {
      const [first] = await ask(COUNT);
      await query('INSERT INTO note VALUES (1)');
      const [second] = await ask(COUNT);
      return [first?.count, second?.count];
    });
    assert.deepEqual(counts, [0, 0]);
    const [later] = await asOfOneMoment(10_000, (ask) => ask(COUNT));
    assert.equal(later?.count, 1);
  });

  test('cannot write', async () => {
    const write = (ask: Ask) => ask('INSERT INTO note VALUES (2)');
    const writing = pool.use((connection) => readSnapshot(connection, 10_000, write));
    await assert.rejects(writing, { code: 'store_unavailable', message: /is read-only/ });
  });

  test('are answered in time, or not at all', async () => {
    const slow = asOfOneMoment(500, (ask) => ask('SELECT pg_sleep(60)'));
    await assert.rejects(slow, { name: 'Error', code: 'store_unavailable', message: /took too long/ });
    const [row] = await query("SELECT current_setting('statement_timeout') AS timeout");
    assert.equal(row?.timeout, '0', 'the limit ends with the question');
  });

  test('fail with the first error, wherever it comes from', async () => {
    const failing = asOfOneMoment(10_000, async (ask) => {
      await ask(COUNT);
      throw new RangeError('mine');
    });
    await assert.rejects(failing, RangeError);
    await assert.rejects(
      asOfOneMoment(10_000, (ask) => Promise.all([ask('SELECT nothing'), ask(COUNT)])),
      Fault,
    );
  });
});

test('text that the database cannot store is recognized', () => {
  for (const text of [null, '', 'ada', '\u{1F600}', '\uD83D']) assert.equal(isStorable(text), true);
  for (const text of ['\0', 'a\0b']) assert.equal(isStorable(text), false);
});
