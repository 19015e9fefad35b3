import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, connect as openTcp, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  hasPostgres,
  sharedPostgres,
  startPostgres,
} from '../../../../../../test/support/stores/postgres.ts';
import { Connection } from '../../../../src/store/postgres/wire/connection.ts';
import { type OpeningOptions, openConnection } from '../../../../src/store/postgres/wire/database.ts';
import { isConnectionLost } from '../../../../src/store/postgres/wire/database-error.ts';
import { parseDatabaseUrl } from '../../../../src/store/postgres/wire/database-url.ts';
import { openSocket } from '../../../../src/store/postgres/wire/open-socket.ts';

const canStop = hasPostgres && process.env.BERTH_TEST_DATABASE_URL === undefined;
const skip = hasPostgres ? false : 'optional: needs PostgreSQL for this platform';
const skipStop = canStop ? false : 'optional: needs a PostgreSQL that tests may stop';
const shared = sharedPostgres();

const OPTIONS = { prepareStatements: true, answerTimeoutMs: 10_000, connectTimeoutMs: 10_000 };

async function open(t: TestContext, url: string, options: Partial<OpeningOptions> = {}): Promise<Connection> {
  const connection = await openConnection({ ...OPTIONS, target: parseDatabaseUrl(url), ...options });
  t.after(() => connection.close());
  return connection;
}

/** How long some connections wait for an answer: long enough for a busy machine. */
const ANSWER_MS = 2000;
const IDLE_MS = ANSWER_MS + 500;

/** Forwards everything until it is told to drop it, like a network that is cut. */
async function startProxy(t: TestContext, port: number) {
  const sockets: Socket[] = [];
  const server = createServer((client) => {
    const upstream = openTcp(port, '127.0.0.1');
    sockets.push(client, upstream);
    client
      .on('error', () => {})
      .pipe(upstream.on('error', () => {}))
      .pipe(client);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const swallow = () => {
    for (const socket of sockets) socket.unpipe().pause();
  };
  return { port: (server.address() as { port: number }).port, swallow };
}

describe('a connection', { skip }, () => {
  for (const prepareStatements of [true, false]) {
    const how = prepareStatements ? 'with prepared statements' : 'without them';
    test(`returns what it was given, ${how}`, async (t) => {
      const connection = await open(t, (await shared()).url('postgres'), { prepareStatements });
      const text = `SELECT $1::bigint AS n, $2::text AS t, $3::bytea AS b, $4::bigint AS nothing,
        $5::bigint[] AS ns, $6::bytea[] AS bs, $7::text[] AS ts, $8::json AS j,
        $9::timestamptz > 'epoch' AS d`;
      for (let round = 0; round < 2; round++) {
        const [row] = await connection.query(text, [
          1_800_000_000_000,
          'ä"\\\'',
          Uint8Array.of(0, 255),
          null,
          [1, 2],
          [Uint8Array.of(7)],
          ['a"b', 'c\\', null, 'NULL', ''],
          '{"a": 1}',
          '2026-01-01T00:00:00Z',
        ]);
        assert.deepEqual(row, {
          n: 1_800_000_000_000,
          t: 'ä"\\\'',
          b: Buffer.of(0, 255),
          nothing: null,
          ns: '{1,2}',
          bs: '{"\\\\x07"}',
          ts: '{"a\\"b","c\\\\",NULL,"NULL",""}',
          j: '{"a": 1}',
          d: true,
        });
      }
    });
  }

  test('answers concurrent queries in order, and an error fails only its query', async (t) => {
    const connection = await open(t, (await shared()).url('postgres'));
    const asked = Array.from({ length: 300 }, (_, n) =>
      n % 7 === 3
        ? connection.query('SELECT 1 / $1::int AS n', [0])
        : connection.query('SELECT $1::int AS n', [n]),
    );
    const answers = await Promise.allSettled(asked);
    for (const [n, answer] of answers.entries()) {
      if (answer.status === 'fulfilled') assert.deepEqual(answer.value[0], { n });
      else assert.deepEqual([answer.reason.code, n % 7], ['22012', 3]);
    }
    assert.deepEqual([connection.isBusy, connection.isDead], [false, false]);
  });

  test('refuses parameters that cannot be encoded, and continues', async (t) => {
    const connection = await open(t, (await shared()).url('postgres'));
    const bad = [undefined, {}, [undefined], () => {}] as unknown as null[];
    const slow = connection.query("SELECT 'slow' AS answer FROM pg_sleep($1)", [0.05]);
    const refused = bad.map((parameter) => connection.query('SELECT $1::text AS answer', [parameter]));
    const odd = connection.query('SELECT $1::bytea AS answer', [5]);
    const last = connection.query('SELECT $1::text AS answer', ['last']);
    for (const query of refused) await assert.rejects(query, TypeError);
    assert.deepEqual([(await slow)[0], (await last)[0]], [{ answer: 'slow' }, { answer: 'last' }]);
    assert.deepEqual((await odd)[0], { answer: Buffer.from('5') });
    await assert.rejects(connection.query('SELECT 1', new Array(70_000).fill(1)), RangeError);
  });

  test('returns how many rows a statement touched', async (t) => {
    const connection = await open(t, await (await shared()).createDatabase());
    await connection.query('CREATE TABLE thing (n BIGINT); CREATE INDEX thing_by_n ON thing (n)');
    assert.equal((await connection.query('INSERT INTO thing VALUES ($1), ($2)', [1, 2])).count, 2);
    assert.equal((await connection.query('UPDATE thing SET n = 3 WHERE n = $1', [7])).count, 0);
  });

  test('has a name, so that it can be identified', async (t) => {
    const connection = await open(t, (await shared()).url('postgres'));
    assert.deepEqual((await connection.query('SHOW application_name'))[0], { application_name: 'berth' });
  });

  test('that was closed fails every query', async (t) => {
    const connection = await open(t, (await shared()).url('postgres'));
    const asked = connection.query('SELECT pg_sleep(60)');
    await connection.close();
    for (const query of [asked, connection.query('SELECT 1')]) await assert.rejects(query, isConnectionLost);
    assert.equal(connection.isDead, true);
    await connection.close();
  });
});

describe('a lost connection', { skip }, () => {
  test('fails pending queries, and leaves nothing waiting', async (t) => {
    const url = (await shared()).url('postgres');
    const [connection, other] = [await open(t, url), await open(t, url)];
    const [row] = await connection.query('SELECT pg_backend_pid() AS pid');
    await connection.query('SELECT $1::text AS big', ['']);
    const asked = [connection.query('SELECT pg_sleep($1)', [60])];
    const big = 'x'.repeat(100_000);
    for (let n = 0; n < 500; n++) asked.push(connection.query('SELECT $1::text AS big', [big]));
    await other.query('SELECT pg_terminate_backend($1)', [row?.pid as number]);
    for (const { status, ...rest } of await Promise.allSettled(asked)) {
      assert.equal(status, 'rejected');
      assert.ok('reason' in rest && isConnectionLost(rest.reason));
    }
    assert.equal(connection.isDead, true);
    await assert.rejects(connection.query('SELECT 1'), isConnectionLost);
  });

  test('is not reopened in the middle of a transaction', async (t) => {
    const url = await (await shared()).createDatabase();
    const [connection, other] = [await open(t, url), await open(t, url)];
    await other.query('CREATE TABLE thing (n BIGINT)');
    const [row] = await connection.query('SELECT pg_backend_pid() AS pid');
    await connection.query('BEGIN');
    const asked = [connection.query('INSERT INTO thing VALUES ($1)', [0])];
    await asked[0];
    void other.query('SELECT pg_terminate_backend($1)', [row?.pid as number]);
    // Sent at every moment of its end, including the one between a Node.js tick and a microtask.
    for (let n = 1; !connection.isDead; n++) {
      asked.push(connection.query('INSERT INTO thing VALUES ($1)', [n]));
      process.nextTick(() => asked.push(connection.query('INSERT INTO thing VALUES ($1)', [n])));
      await new Promise(setImmediate);
    }
    await Promise.allSettled(asked);
    await assert.rejects(connection.query('COMMIT'), isConnectionLost);
    assert.deepEqual([...(await other.query('SELECT * FROM thing'))], []);
  });

  for (const [how, text] of [
    ['forgot', 'DEALLOCATE ALL'],
    ['would answer differently now', 'ALTER TABLE thing ADD COLUMN m BIGINT'],
  ] as const) {
    test(`is one with a statement that the server ${how}: it is not repeated by itself`, async (t) => {
      const url = await (await shared()).createDatabase();
      const [connection, other] = [await open(t, url), await open(t, url)];
      await other.query('CREATE TABLE thing (n BIGINT)');
      const insert = (n: number) => connection.query('INSERT INTO thing VALUES ($1) RETURNING *', [n]);
      await insert(1);
      await connection.query(text);
      const asked = [connection.query('BEGIN'), insert(2), connection.query('COMMIT'), insert(3)];
      const outcomes = (await Promise.allSettled(asked)).map(({ status }) => status);
      assert.deepEqual(outcomes, ['fulfilled', 'rejected', 'rejected', 'rejected']);
      assert.equal(connection.isDead, true);
      assert.deepEqual(
        (await other.query('SELECT n FROM thing')).map(({ n }) => n),
        [1],
      );
    });
  }

  test('is not written to at the moment it ends', async (t) => {
    const target = parseDatabaseUrl((await shared()).url('postgres'));
    const { signal } = new AbortController();
    const socket = await openSocket(target, signal);
    const asked: Promise<unknown>[] = [];
    // This is called before the connection hears of it.
    socket.once('close', () => asked.push(connection.query('SELECT 1'), connection.query('SELECT $1', [1])));
    const connection = await Connection.open(socket, { ...OPTIONS, target }, signal);
    t.after(() => connection.close());
    socket.destroy();
    await once(socket, 'close');
    assert.equal(asked.length, 2);
    for (const query of asked) await assert.rejects(query, isConnectionLost);
    // Nothing may be written later, which would end the process with an error that cannot be caught.
    await new Promise(setImmediate);
  });

  test('is detected when the network drops everything', { skip: skipStop }, async (t) => {
    const postgres = await shared();
    const proxy = await startProxy(t, postgres.port);
    const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
    const connection = await open(t, url, { answerTimeoutMs: ANSWER_MS });
    await connection.query('SELECT 1');
    proxy.swallow();
    await assert.rejects(connection.query('SELECT 1'), /has not answered for too long/);
    assert.equal(connection.isDead, true);
  });

  test('is also detected after it was idle for longer than the timeout', {
    skip: skipStop,
  }, async (t) => {
    const postgres = await shared();
    const proxy = await startProxy(t, postgres.port);
    const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
    const connection = await open(t, url, { answerTimeoutMs: ANSWER_MS });
    await connection.query('SELECT 1');
    await delay(IDLE_MS);
    await connection.query('SELECT 1');
    proxy.swallow();
    await assert.rejects(connection.query('SELECT 1'), /has not answered for too long/);
    assert.equal(connection.isDead, true);
  });

  test('is detected when the server crashes', { skip: skipStop }, async (t) => {
    const postgres = await startPostgres();
    t.after(() => postgres.end());
    const [idle, busy] = [await open(t, postgres.url('postgres')), await open(t, postgres.url('postgres'))];
    const asked = Array.from({ length: 20 }, () => busy.query('SELECT pg_sleep($1)', [60]));
    await postgres.stop('immediate');
    for (const query of asked) await assert.rejects(query, isConnectionLost);
    await assert.rejects(idle.query('SELECT 1'), isConnectionLost);
    assert.deepEqual([idle.isDead, busy.isDead], [true, true]);
  });
});
