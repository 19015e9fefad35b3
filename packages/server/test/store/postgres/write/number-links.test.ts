import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { pollUntil } from '../../../../../../test/support/poll.ts';
import { hasPostgres, sharedPostgres } from '../../../../../../test/support/stores/postgres.ts';
import { Fault } from '../../../../src/core/nouns/fault.ts';
import { PostgresReader } from '../../../../src/store/postgres/read/reader.ts';
import type { Connection } from '../../../../src/store/postgres/wire/connection.ts';
import { parseDatabaseUrl } from '../../../../src/store/postgres/wire/database-url.ts';
import { migrate } from '../../../../src/store/postgres/wire/migrate.ts';
import { Pool } from '../../../../src/store/postgres/wire/pool.ts';
import { numberLinks } from '../../../../src/store/postgres/write/number-links.ts';
import { NOW } from '../../../core/examples.ts';

const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const shared = sharedPostgres();
let pool: Pool;
let reader: PostgresReader;

before(async () => {
  if (skip) return;
  pool = new Pool({
    target: parseDatabaseUrl(await (await shared()).createDatabase()),
    max: 12,
    prepareStatements: true,
    acquireTimeoutMs: 10_000,
    connectTimeoutMs: 10_000,
    answerTimeoutMs: 30_000,
  });
  reader = new PostgresReader({ pool, patientPool: pool, describeHost: () => 'db:5432' });
  await run(migrate);
});

beforeEach(async () => {
  if (!skip) await query('DELETE FROM audit_link; UPDATE audit_order SET last_seq = 0');
});

after(async () => {
  if (!skip) await pool.close();
});

function run<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
  return pool.use(work);
}

function query(text: string) {
  return run((connection) => connection.query(text));
}

const add = (chain: number, from: number, to = from) => `INSERT INTO audit_link (chain, n, at, events, mac)
  SELECT ${chain}, n, 0, '[]', '' FROM generate_series(${from}, ${to}) AS n`;

async function listSeqs(): Promise<readonly unknown[]> {
  const rows = await query('SELECT chain, n, seq FROM audit_link ORDER BY seq NULLS LAST, chain, n');
  return rows.map(({ chain, n, seq }) => [chain, n, seq]);
}

const describeAudit = () => reader.answer({ kind: 'describe_audit' }, NOW, []);

describe('links are numbered', { skip }, () => {
  test('in the order of writing, continuing from the last number', async () => {
    await query(add(2, 1));
    await query(add(1, 1));
    assert.equal(await run(numberLinks), 2);
    await query(add(2, 2));
    assert.equal(await run(numberLinks), 1);
    assert.equal(await run(numberLinks), 0);
    assert.deepEqual(await listSeqs(), [
      [2, 1, 1],
      [1, 1, 2],
      [2, 2, 3],
    ]);
  });

  test('never before their commit: a reader that continues by number misses none', async () => {
    await run(async (late) => {
      await late.query('BEGIN');
      await late.query(add(1, 1));
      await query(add(2, 1));
      assert.deepEqual(await describeAudit(), { lastSeq: 1 });
      await late.query('COMMIT');
    });
    assert.deepEqual(await describeAudit(), { lastSeq: 2 });
    assert.deepEqual(await listSeqs(), [
      [2, 1, 1],
      [1, 1, 2],
    ]);
  });

  test('once, by the first server, including those committed while the others waited', async () => {
    const counts = await run(async (connection) => {
      await connection.query('BEGIN');
      await connection.query('SELECT 1 FROM audit_order FOR UPDATE');
      await query(add(1, 1, 20));
      const waiting = Array.from({ length: 8 }, () => run(numberLinks));
      await untilWaiting(8);
      await query(add(2, 1, 5));
      await connection.query('COMMIT');
      return Promise.all(waiting);
    });
    assert.deepEqual(counts.toSorted(), [0, 0, 0, 0, 0, 0, 0, 25]);
    const [order] = await query('SELECT last_seq FROM audit_order');
    assert.equal(order?.last_seq, 25);
  });

  test('in several steps when there are many', async () => {
    await query(add(1, 1, 25_000));
    assert.equal(await run(numberLinks), 25_000);
    const [row] = await query('SELECT count(*) FILTER (WHERE seq = n) AS count FROM audit_link');
    assert.equal(row?.count, 25_000);
  });

  test('skipping a number that somebody wrote ahead, unless it is far away', async () => {
    await query(add(1, 1, 3));
    await query('UPDATE audit_link SET seq = 2 WHERE n = 2; UPDATE audit_link SET seq = 9e18 WHERE n = 3');
    await run(numberLinks);
    assert.deepEqual(await listSeqs(), [
      [1, 2, 2],
      [1, 1, 3],
      [1, 3, 9e18],
    ]);
  });

  test('or not at all: a failure leaves no transaction behind', async () => {
    await query(add(1, 1));
    await query('ALTER TABLE audit_link ADD CONSTRAINT none CHECK (seq IS NULL)');
    try {
      await run(async (connection) => {
        await assert.rejects(numberLinks(connection));
        const [row] = await connection.query('SELECT now() = statement_timestamp() AS fresh');
        assert.equal(row?.fresh, true);
      });
      await assert.rejects(describeAudit(), Fault);
    } finally {
      await query('ALTER TABLE audit_link DROP CONSTRAINT none');
    }
    assert.equal(await run(numberLinks), 1);
  });
});

async function untilWaiting(count: number): Promise<void> {
  await pollUntil(`${count} wait for the lock`, async () => {
    const [row] = await query(`SELECT count(*) AS count FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`);
    return row?.count === count ? true : undefined;
  });
}
