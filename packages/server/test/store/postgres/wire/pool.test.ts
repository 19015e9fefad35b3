import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { pollUntil } from '../../../../../../test/support/poll.ts';
import {
  hasPostgres,
  sharedPostgres,
  startPostgres,
} from '../../../../../../test/support/stores/postgres.ts';
import { isConnectionLost } from '../../../../src/store/postgres/wire/database-error.ts';
import { parseDatabaseUrl } from '../../../../src/store/postgres/wire/database-url.ts';
import { Pool, type PoolOptions } from '../../../../src/store/postgres/wire/pool.ts';

const canStop = hasPostgres && process.env.BERTH_TEST_DATABASE_URL === undefined;
const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const skipStop = canStop ? false : 'optional: needs a PostgreSQL that tests may stop';
const shared = sharedPostgres();

function makePool(t: TestContext, url: string, options: Partial<PoolOptions> = {}): Pool {
  const pool = new Pool({
    target: parseDatabaseUrl(url),
    max: 2,
    prepareStatements: true,
    acquireTimeoutMs: 10_000,
    connectTimeoutMs: 10_000,
    answerTimeoutMs: 10_000,
    ...options,
  });
  t.after(() => pool.close());
  return pool;
}

async function askPid(pool: Pool): Promise<unknown> {
  const [row] = await pool.use((connection) => connection.query('SELECT pg_backend_pid() AS pid'));
  return row?.pid;
}

describe('a pool', { skip }, () => {
  test('never has more connections than allowed, and serves callers in order', async (t) => {
    const pool = makePool(t, await (await shared()).createDatabase());
    const served: number[] = [];
    const seen = new Set<unknown>();
    let now = 0;
    const work = Array.from({ length: 40 }, (_, n) =>
      pool.use(async (connection) => {
        served.push(n);
        assert.ok(++now <= 2);
        const [row] = await connection.query('SELECT pg_backend_pid() AS pid');
        seen.add(row?.pid);
        now--;
      }),
    );
    await Promise.all(work);
    assert.ok(seen.size <= 2);
    // The first two wait only for their connections.
    const waited = served.filter((n) => n >= 2);
    assert.deepEqual(
      waited,
      waited.toSorted((a, b) => a - b),
    );
  });

  test('lets nobody wait forever', async (t) => {
    const pool = makePool(t, (await shared()).url('postgres'), { max: 1, acquireTimeoutMs: 50 });
    const connection = await pool.acquire();
    await assert.rejects(pool.acquire(), /All 1 connections to the database were in use/);
    pool.release(connection);
    assert.equal(await pool.acquire(), connection);
    pool.release(connection);
  });

  test('does not hand on a connection with answers due', async (t) => {
    const pool = makePool(t, (await shared()).url('postgres'), { max: 1 });
    const connection = await pool.acquire();
    const due = connection.query('SELECT pg_sleep(60)');
    pool.release(connection);
    await assert.rejects(due, isConnectionLost);
    assert.equal(typeof (await askPid(pool)), 'number');
  });

  test('replaces a lost connection, whether it was idle or in use', async (t) => {
    const url = (await shared()).url('postgres');
    const [pool, other] = [makePool(t, url, { max: 1 }), makePool(t, url)];
    const terminate = (pid: unknown) =>
      other.use((connection) => connection.query('SELECT pg_terminate_backend($1)', [pid as number]));
    const idle = await pool.acquire();
    pool.release(idle);
    await terminate(await askPid(pool));
    await pollUntil('its end was noticed', () => idle.isDead || undefined);
    const pid = await askPid(pool);
    const used = pool.use((connection) => connection.query('SELECT pg_sleep(60)'));
    // Either answer may come first.
    await Promise.all([terminate(pid), assert.rejects(used, isConnectionLost)]);
    assert.notEqual(await askPid(pool), pid);
  });

  test('waits for work under way when it is closed, and accepts no more', async (t) => {
    const pool = makePool(t, (await shared()).url('postgres'), { max: 1 });
    const slow = pool.use((connection) => connection.query("SELECT 'done' AS state FROM pg_sleep(0.1)"));
    const waiting = pool.use((connection) => connection.query('SELECT 1'));
    const closed = pool.close();
    await assert.rejects(waiting, /The server is stopping/);
    await closed;
    assert.deepEqual((await slow)[0], { state: 'done' });
    await assert.rejects(pool.acquire(), /The server is stopping/);
    await pool.close();
  });
});

describe('a pool whose database stops', { skip: skipStop }, () => {
  test('fails all callers at once, and serves them again when it is back', async (t) => {
    const postgres = await startPostgres();
    t.after(() => postgres.end());
    const pool = makePool(t, postgres.url('postgres'));
    await Promise.all([askPid(pool), askPid(pool)]);
    for (const how of ['fast', 'immediate'] as const) {
      const sleep = () => pool.use((connection) => connection.query('SELECT pg_sleep(60)'));
      const used = Promise.allSettled([sleep(), sleep()]);
      await pollUntil(
        'both are at it',
        async () => (await countSleepers(postgres.url('postgres'))) === 2 || undefined,
      );
      await postgres.stop(how);
      for (const outcome of await used)
        assert.ok(outcome.status === 'rejected' && isConnectionLost(outcome.reason));
      const refused = await Promise.allSettled(Array.from({ length: 10 }, () => askPid(pool)));
      for (const outcome of refused) {
        assert.ok(outcome.status === 'rejected' && isConnectionLost(outcome.reason));
        assert.match(outcome.reason.message, /cannot be reached/);
      }
      await postgres.start();
      const pids = await Promise.all(Array.from({ length: 10 }, () => askPid(pool)));
      assert.ok(pids.every((pid) => typeof pid === 'number'));
    }
  });
});

async function countSleepers(url: string): Promise<number> {
  const pool = new Pool({
    target: parseDatabaseUrl(url),
    max: 1,
    prepareStatements: true,
    acquireTimeoutMs: 10_000,
    connectTimeoutMs: 10_000,
    answerTimeoutMs: 10_000,
  });
  const text = "SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
  const [row] = await pool.use((connection) => connection.query(text));
  await pool.close();
  return row?.n as number;
}
